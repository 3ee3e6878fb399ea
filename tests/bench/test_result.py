"""The result as a file, and what is made of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from headstart.bench.compare import compare, comparison_table
from headstart.bench.plots import PICTURES, pictures
from headstart.bench.report_html import report_html
from headstart.bench.result import KEYS, RESULT, read_result, write_result
from headstart.bench.spec_bench import spec_bench
from headstart.bench.tables import tables
from headstart.errors import DataError
from tests.bench.made_up import made_up_result, run, sample


def test_the_same_numbers_make_the_same_file(tmp_path: Path) -> None:
    one, other = tmp_path / "a.json", tmp_path / "b.json"
    write_result(made_up_result(), one)
    write_result(made_up_result(), other)
    assert one.read_bytes() == other.read_bytes()
    assert read_result(one) == made_up_result()
    assert tuple(made_up_result()) == KEYS


def test_a_directory_stands_for_its_result(tmp_path: Path) -> None:
    write_result(made_up_result(), tmp_path / RESULT)
    assert read_result(tmp_path)["schema_version"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("schema_version"), "no schema_version"),
        (lambda data: data.update(schema_version=99), "schema version 99; expected 1"),
        (lambda data: data.pop("cost"), "lacks cost"),
        (lambda data: data["latency"].update(settings=3), "latency.settings is no list"),
        (lambda data: data["quality"]["equality"][0].pop("batch"), "quality.equality is no list of settings"),
    ],
)
def test_files_that_are_no_results(change: Any, message: str, tmp_path: Path) -> None:
    data = made_up_result()
    change(data)
    (tmp_path / RESULT).write_text(json.dumps(data))
    with pytest.raises(DataError, match=message):
        read_result(tmp_path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_result(tmp_path / "none.json")
    (tmp_path / "text").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        read_result(tmp_path / "text")


def test_a_result_agrees_with_itself() -> None:
    found = compare(made_up_result(), made_up_result())
    assert (found["agree"], found["compared"], found["environment"]) == (2, 2, {})
    assert [row["change"]["estimate"] for row in found["rows"]] == [1.0, 1.0]


def test_a_result_that_is_faster() -> None:
    """Every question 1.5 times as fast: no interval has a width, so none holds the other's median."""
    found = compare(made_up_result([2.0] * 10), made_up_result([3.0] * 10, environment={"dtype": "float32"}))
    medusa, theirs = found["rows"]
    assert (medusa["contestant"], medusa["agree"], medusa["change"]["estimate"]) == ("medusa", False, 1.5)
    assert theirs["agree"]
    assert found["environment"] == {"dtype": ["bfloat16", "float32"]}
    table = comparison_table(found)
    assert table.rows[0] == (
        "medusa, batch 1, temperature 0", "2.00 (2.00 to 2.00)", "3.00 (3.00 to 3.00)", "1.50 (1.50 to 1.50, n = 10)",
        "2.0 -> 3.0", "no",
    )  # fmt: skip


def test_questions_of_other_files_are_not_paired() -> None:
    """Both call their questions 0 to 9."""
    found = compare(*(made_up_result(environment={"prompts": name}) for name in ("a.jsonl", "b.jsonl")))
    assert [row["change"] for row in found["rows"]] == [None, None]
    assert found["environment"] == {"prompts": ["a.jsonl", "b.jsonl"]}


def test_tables() -> None:
    found = {table.title: table for table in tables(made_up_result(batches={2: 1.5}, price=9.0))}
    assert found["Speed at batch 1, temperature 0"].rows[0] == (
        "medusa", "2.00", "2.0", "2.00 (2.00 to 2.00)", "1.67 (1.67 to 1.67)", "4.00 (4.00 to 4.00)", "10 of 10",
    )  # fmt: skip
    # 5 tokens in 3 s are 0.6 s each, which at 9 an hour is 1,500 a million
    assert found["Cost, temperature 0"].rows[0][1] == "600.00 (0.60) 1500.00"
    assert found["Accepted guesses, batch 1, temperature 0"].rows == [("at least 1", "1.000 (1.000)")]
    assert [row[0] for row in found["Milliseconds of a step, batch 1, temperature 0"].rows][-1] == "step"
    # transformers' fifth token is another
    assert found["Other texts than plain decoding's"].rows[0] == ("transformers, batch 1, temperature 0", "10 of 10", "0", "")
    for table in found.values():
        assert all(len(row) == len(table.headings) for row in table.rows)


def test_spec_bench_counts_as_spec_bench_does() -> None:
    """Mean speeds: (5/2 + 5/3) / 2 against (5/5 + 5/5) / 2."""
    samples = [
        sample("1", {"plain": run(range(5), 4.0), "medusa": run(range(5), 1.0, accepted=[2], steps=2)}, "math"),
        sample("2", {"plain": run(range(5), 4.0), "medusa": run(range(5), 2.0, accepted=[2], steps=2)}, "coding"),
        sample("3", {"plain": run(range(5), 4.0), "medusa": run(range(5), 4.0)}, "rag"),
    ]
    found = spec_bench(samples, ["medusa", "plain"])
    assert found is not None
    assert list(found) == ["multi-turn", "rag", "overall"]
    assert found["multi-turn"]["medusa"]["speedup"] == pytest.approx((5 / 2 + 5 / 3) / 2)
    assert found["multi-turn"]["medusa"]["mean_accepted"] == 2.0
    assert found["overall"]["medusa"]["mean_accepted"] == pytest.approx(12 / 8)
    assert found["overall"]["plain"]["speedup"] == 1.0
    assert spec_bench([*samples, sample("4", {"plain": run(range(5), 4.0)}, "gossip")], ["plain"]) is None


def test_the_report_needs_no_other_file() -> None:
    result = made_up_result(batches={2: 1.5})
    result["acceptance"]["tree"] = {"parent": [-1, 0, 0, 1], "share": [1.0, 0.6, 0.1, 0.3], "nodes": 4}
    drawn = pictures(result)
    assert set(drawn) == {f"{name}.png" for name in PICTURES}
    assert all(data.startswith(b"\x89PNG") for data in drawn.values())
    page = report_html(result, drawn)
    assert page.count("data:image/png;base64,") == len(PICTURES)
    assert "http" not in page.replace("http-equiv", "")
    assert page.index(result["verdict"]["headline"].split(",")[0]) < page.index("<table>")


def test_what_there_is_nothing_of_is_not_drawn() -> None:
    assert set(pictures(made_up_result())) == {"speedup.png", "acceptance.png", "overhead.png"}
    assert "matplotlib is not installed" in report_html(made_up_result(), {})


def test_a_run_of_which_nothing_can_be_timed() -> None:
    """Every text of medusa ends with its first token, so that no question has a step to compare."""
    result = made_up_result(ids=(9,), batches={2: 1.5})
    assert result["verdict"]["deploy"] == "cannot tell"
    assert "there is nothing to compare" in result["verdict"]["headline"]
    assert "10 too short to time" in " ".join(result["verdict"]["warnings"])
    assert pictures(result) == {}
    page = report_html(result, {})
    assert "there is nothing to compare" in page
    assert compare(result, result)["compared"] == 0


def test_names_are_no_html() -> None:
    page = report_html(made_up_result(environment={"model": "<script>"}), {})
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
