"""``headstart generate``."""

import io
import json
from pathlib import Path

import pytest

import headstart
from headstart.cli.main import main

COMMON = ["--dtype", "float32", "--max-new-tokens", "12"]


@pytest.fixture(scope="module")
def expected(tiny_model: str) -> headstart.Completion:
    """What the Python interface writes: the commands must write the same."""
    llm = headstart.load(tiny_model, heads=None, dtype="float32")
    completion = llm.generate("Once upon", max_new_tokens=12)
    assert isinstance(completion, headstart.Completion)
    return completion


def test_text_on_stdout_figures_on_stderr(
    tiny_model: str, expected: headstart.Completion, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", tiny_model, "Once upon", *COMMON]) == 0
    captured = capsys.readouterr()
    assert captured.out == expected.text + "\n"
    assert f"{len(expected.token_ids)} tokens in " in captured.err


def test_json_is_one_object_a_prompt(tiny_model: str, expected: headstart.Completion, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", tiny_model, "Once upon", "a time", "--json", *COMMON]) == 0
    first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["prompt"], second["prompt"]) == ("Once upon", "a time")
    assert first["token_ids"] == list(expected.token_ids)  # the neighbour in the batch does not change it
    assert first["stats"]["tokens_per_step"] >= 1.0  # no heads: n-grams guess, and may be right
    assert first["error"] is None


def test_prompt_from_stdin(
    tiny_model: str, expected: headstart.Completion, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Once upon\n"))  # the line end is the shell's, not the prompt's
    assert main(["generate", tiny_model, *COMMON]) == 0
    assert capsys.readouterr().out == expected.text + "\n"


def test_prompts_from_a_file(
    tiny_model: str, expected: headstart.Completion, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred of them, a blank line among them; the first is the one whose text is known."""
    file = tmp_path / "prompts.txt"
    file.write_text("Once upon\n\n" + "".join(f"prompt {i} \u00e4\u20ac\U0001f600\n" for i in range(99)), encoding="utf-8")
    assert main(["generate", tiny_model, "--file", str(file), "--json", *COMMON]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["prompt"] for record in records[:2]] == ["Once upon", "prompt 0 \u00e4\u20ac\U0001f600"]
    assert (len(records), records[0]["token_ids"]) == (100, list(expected.token_ids))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"\n \n", "holds no prompt"), (b"caf\xe9", "in UTF-8")]
)
def test_a_file_without_prompts(content: bytes | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prompts.txt"
    if content is not None:
        file.write_bytes(content)
    assert main(["generate", "no-such-model", "--file", str(file)]) == 2  # before a model is looked for
    assert message in capsys.readouterr().err


def test_chat_uses_the_template(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", tiny_model, "Hi", "--chat", "--json", *COMMON]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["prompt_tokens"] == 5  # <|user|> H i <|end|> <|assistant|>


def test_a_seed_is_reported_and_repeats_the_text(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["generate", tiny_model, "Once", "--temperature", "1", "--json", *COMMON]
    assert main(arguments) == 0
    fresh = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--seed", str(fresh["seed"])]) == 0
    assert json.loads(capsys.readouterr().out)["token_ids"] == fresh["token_ids"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/such/model", "Hi"], "error: "),
        (["MODEL", ""], "error: the prompt is empty"),
        (["MODEL", "Hi", "--temperature", "-1"], "error: temperature is -1"),
        (["MODEL", "Hi", "--top-p", "0"], "error: top_p is 0"),
        (["MODEL", "Hi", "--drafter", "oracle"], "error: drafter 'oracle'"),
        (["MODEL", "Hi", "--heads", "/no/such/heads"], "error: "),
        (["MODEL", "x" * 300], "error: "),  # the context holds 256
    ],
)
def test_mistakes_exit_with_2(arguments: list[str], message: str, tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [tiny_model if argument == "MODEL" else argument for argument in arguments]
    assert main(["generate", *arguments, "--dtype", "float32"]) == 2
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1].startswith(message)
    assert "Traceback" not in captured.err


def test_nothing_on_stdin(tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["generate", tiny_model]) == 2
    assert capsys.readouterr().err == "error: there is no prompt; give one after the model, or write it to stdin\n"


def test_a_closed_stdin(tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["generate", tiny_model]) == 2
    assert "there is no prompt" in capsys.readouterr().err
    assert main(["chat", tiny_model]) == 0  # nobody says anything


def test_a_prompt_that_is_not_utf_8(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that are no UTF-8 come from the shell as lone surrogates."""
    assert main(["generate", tiny_model, b"caf\xe9".decode("utf-8", "surrogateescape")]) == 2
    assert "place 3" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--temperature", "-1"), ("--top-p", "2"), ("--top-k", "0"), ("--min-p", "1")])
def test_parameters_are_checked_before_a_model_is_loaded(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "no-such-model", "text", option, value]) == 2
    assert f"{option.strip('-').replace('-', '_')} is" in capsys.readouterr().err
