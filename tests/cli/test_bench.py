"""The bench command, on a tiny model and few prompts."""

import json
from pathlib import Path

import pytest

from headstart.bench.journal import JOURNAL
from headstart.bench.result import KEYS, RESULT, read_result
from headstart.bench.watched import WATCHED
from headstart.cli.main import main

QUICK = ["--dtype", "float32", "--max-new-tokens", "8", "--against", "transformers,prompt-lookup,ngram@2", "--repeat-every", "2"]


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    file = tmp_path / "question.jsonl"
    rows = [
        {"question_id": 80 + i, "category": "qa" if i else "math", "turns": [f"Say {i}", "More"][: 2 - i % 2]} for i in range(4)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def bench(*arguments: str) -> int:
    return main(["bench", *arguments])


def test_everything(tiny_model: str, heads_path: str, prompts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six turns of four questions alone, two batches of two: 4 contestants and 3 repeats, 3 contestants and a repeat of 2."""
    output = tmp_path / "out"
    given = [tiny_model, "--heads", heads_path, "--prompts", prompts, "--output", str(output), *QUICK]
    assert bench(*given, "--batch", "1,2", "--price-per-hour", "2", "--json") == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    texts = 6 * 5 + 4 + 2 * 4 * 2 + 2
    assert f"{texts} of {texts} texts" in captured.err
    assert {"directory", *KEYS} == set(found)
    assert read_result(output)["verdict"] == found["verdict"]
    alone, together = found["latency"]["settings"]
    assert list(alone["contestants"]) == ["combined", "plain", "transformers", "prompt-lookup", "ngram@2"]
    assert list(together["contestants"]) == ["combined", "plain", "transformers", "ngram@2"]  # lookup takes one text at a time
    equal = found["quality"]["equality"][0]["contestants"]
    assert {name: (each["equal"], each["texts"]) for name, each in equal.items()} == {
        "combined": (6, 6), "transformers": (6, 6), "prompt-lookup": (6, 6), "ngram@2": (6, 6), "plain again": (4, 4),
    }  # fmt: skip
    assert found["quality"]["equality"][1]["same_in_batches"] == {"texts": 4, "equal": 4}
    assert list(found["latency"]["spec_bench"]) == ["multi-turn", "qa", "overall"]
    parts = found["overhead"]["settings"][0]["contestants"]["combined"]["parts"]
    assert sum(parts.values()) == pytest.approx(found["overhead"]["settings"][0]["contestants"]["combined"]["step_ms"], rel=1e-4)
    assert found["cost"]["settings"][0]["contestants"]["plain"]["price_per_million"] > 0
    assert found["environment"]["threads"] >= 1
    assert found["environment"]["plan"]["contestants"][0] == "combined"
    # heads that were never trained: no guess is accepted, so there is no picture of it
    assert {path.name for path in output.iterdir()} == {
        "result.json", "report.html", JOURNAL, WATCHED, "speedup.png", "cost.png", "overhead.png", "tree.png",
    }  # fmt: skip

    # run again, nothing is decoded again, and people get a page
    measured, written = (output / JOURNAL).read_bytes(), (output / RESULT).read_bytes()
    assert bench(*given, "--batch", "1,2", "--price-per-hour", "2") == 0
    captured = capsys.readouterr()
    assert f"{texts} of {texts} texts were decoded before" in captured.err
    assert (output / JOURNAL).read_bytes() == measured
    assert (output / RESULT).read_bytes() == written
    assert captured.out.startswith("At batch 1, temperature 0 on this machine (")
    assert "written to" in captured.out

    # other settings do not mix with these
    assert bench(*given, "--batch", "1") == 2
    assert "holds another run: plan is" in capsys.readouterr().err

    assert bench("compare", str(output), str(output / "result.json"), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agree"] == found["compared"] == 7
    assert bench("compare", str(output), str(output)) == 0
    assert "7 of 7 agree." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "1,two"], "batch is '1,two'"),
        (["--batch", "0"], "expected numbers of texts"),
        (["--batch", "9"], "4 questions fill no batch of 9"),
        (["--batch", "99"], "more than the 64 rows of the cache"),
        (["--temperature", "hot"], "temperature is 'hot'"),
        (["--limit", "0"], "limit is 0"),
        (["--threads", "0"], "threads is 0"),
        (["--temperature", "0,nan"], "temperature is [0.0, nan]"),
        (["--price-per-hour", "0"], "price_per_hour is 0"),
        (["--price-per-hour", "inf"], "price_per_hour is inf"),
        (["--price-per-hour", "nan"], "price_per_hour is nan"),
        (["--max-new-tokens", "1"], "there is no step"),
        (["--prompts", "/no/such/file"], "cannot be read"),
        (["--prompts", "{tmp}/empty"], "there are no prompts"),
        (["--prompts", "{tmp}/bad"], "bad:1: not JSON"),
        (["--against", "vllm"], "contestant 'vllm' is not known here"),
        (["--against", "draft-model:a,draft-model:b"], "a run takes one"),
        (["--drafter", "medusa"], "Drafters of heads need --heads"),
        (["--output", "{tmp}/empty/out"], "give another --output"),
        (["second-model"], "unexpected second-model"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, tiny_model: str, prompts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "bad").write_text("{\n")
    defaults = {"--prompts": prompts, "--output": str(tmp_path / "out"), "--against": "none", "--dtype": "float32"}
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    rest = [word for name, value in defaults.items() if name not in given for word in (name, value)]
    assert bench(tiny_model, *given, *rest) == 2
    captured = capsys.readouterr()
    assert "error: " in captured.err
    assert message in captured.err
    assert captured.out == ""


def test_two_results_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("compare", str(tmp_path)) == 2
    assert "1 results to compare; expected two" in capsys.readouterr().err
    assert bench("compare", str(tmp_path), str(tmp_path)) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_draft_model(tiny_model: str, prompts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model drafts for itself: its likeliest guess is right, so 7 tokens after the first take 4 steps at most."""
    name = f"draft-model:{tiny_model}@4"
    given = [tiny_model, "--prompts", prompts, "--output", str(tmp_path / "out"), "--dtype", "float32", "--max-new-tokens", "8"]
    assert bench(*given, "--drafter", name, "--against", "none", "--turns", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["environment"]["contestants"]) == [name, "plain"]
    accepted = found["acceptance"]["settings"][0]["contestants"][name]
    assert accepted["tokens_per_step"]["estimate"] >= 7 / 4
    same = found["quality"]["equality"][0]["contestants"][name]
    assert (same["equal"], same["texts"]) == (4, 4)
