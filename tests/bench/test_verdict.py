"""What is said of a result."""

from typing import Any

import pytest

from tests.bench.made_up import made_up_result


def warnings(result: dict[str, Any]) -> str:
    return " ".join(result["verdict"]["warnings"])


def test_faster() -> None:
    """5 tokens in 1 + 4 seconds and in 1 + 2: 5/3 end to end, of decoding 2; transformers' 8 seconds are 4 times as many."""
    found = made_up_result([2.0] * 10)["verdict"]
    assert found["headline"] == (
        "At batch 1, temperature 0 on this machine (bfloat16), medusa decodes 2.00 times as fast as plain decoding (95 % interval"
        " 2.00 to 2.00, n = 10), text identical in 10 of 10; pays at batch 1."
    )
    assert found["deploy"] == "yes"
    assert found["sentences"] == [
        "Deploy medusa: with the prompts' passes it is 1.67 times as fast (1.67 to 1.67).",
        "Against transformers' generate it decodes 4.00 times as fast (4.00 to 4.00).",
    ]
    assert found["warnings"] == []


def test_the_machine_is_named() -> None:
    where = {"processor": "Abacus 9", "threads": 1, "device": "cpu", "weights": "int8"}
    assert (
        "on this machine (Abacus 9, 1 thread, bfloat16, int8), medusa" in made_up_result(environment=where)["verdict"]["headline"]
    )
    where = {"processor": "Loom", "threads": 8, "device": "cuda:0"}
    assert "on this machine (Loom, bfloat16), medusa" in made_up_result(environment=where)["verdict"]["headline"]


def test_slower() -> None:
    found = made_up_result([0.5] * 10)["verdict"]
    assert found["deploy"] == "no"
    assert found["headline"].endswith("; does not pay at batch 1.")
    assert found["sentences"][0].startswith("Do not deploy medusa here, decode plainly")


def test_nobody_can_tell() -> None:
    """Half of the questions are faster, half slower."""
    found = made_up_result([0.5, 2.0] * 5)["verdict"]
    assert found["deploy"] == "cannot tell"
    assert "an interval that holds 1" in found["sentences"][0]
    assert "pay" not in found["headline"]


def test_too_few_questions() -> None:
    result = made_up_result([2.0] * 3)
    assert result["verdict"]["deploy"] == "cannot tell"
    assert "3 questions are too few" in result["verdict"]["sentences"][0]
    assert "intervals of fewer than 8 are too narrow" in warnings(result)


def test_batches() -> None:
    """Decoding in batches of 2 half as fast, with the prompts 5/9: between 5/3 at 1 and 5/9 at 2 the logarithm says 1.5."""
    result = made_up_result([2.0] * 16, batches={2: 0.5})
    assert "stops paying above batch 1." in result["verdict"]["headline"]
    assert result["verdict"]["sentences"][-1] == (
        "At batch 2, temperature 0: 0.56 times plain decoding from end to end (0.56 to 0.56, n = 8), text identical in 16 of 16."
    )


def test_batches_that_pay_where_one_text_does_not() -> None:
    headline = made_up_result([0.5] * 16, batches={2: 2.0})["verdict"]["headline"]
    assert headline.endswith("; pays at batch 2 of 1, 2.")
    assert made_up_result([0.5] * 16, batches={2: 0.5})["verdict"]["headline"].endswith(
        "; does not pay at any batch size measured."
    )
    assert made_up_result([2.0] * 16, batches={2: 2.0})["verdict"]["headline"].endswith(
        "; pays at every batch size measured, up to 2."
    )
    # nobody can tell for one text: nothing is said of any
    assert "pay" not in made_up_result([0.5, 2.0] * 8, batches={2: 2.0})["verdict"]["headline"]


def test_a_noisy_machine() -> None:
    assert "differ by 50%" in warnings(made_up_result(again=1.5))
    assert warnings(made_up_result(again=1.05)) == ""


@pytest.mark.parametrize(("margin", "words"), [(0.125, "near-ties that rounding decides"), (3.0, "which is no near-tie")])
def test_another_text(margin: float, words: str) -> None:
    result = made_up_result(ids=(1, 2, 3, 4, 7), margins={"medusa": [margin]})
    assert "text identical in 0 of 10" in result["verdict"]["headline"]
    assert "medusa wrote another text in 10 of 10" in warnings(result)
    assert words in warnings(result)


def test_a_near_tie_is_no_excuse_in_float32() -> None:
    result = made_up_result(ids=(1, 2, 3, 4, 7), margins={"medusa": [0.125]}, environment={"dtype": "float32"})
    assert "which is no near-tie" in warnings(result)


def test_a_question_that_was_held_up() -> None:
    """Nine questions of 2 s and one of 40, plainly 4 s each: the median says 2, all tokens 40 / 58."""
    assert (
        "medusa's median speed-up is 2.00, but over all tokens it is 0.69: some questions are far from the rest, 0 with 0.10 the"
        " farthest." in warnings(made_up_result([0.1, *[2.0] * 9]))
    )


def test_a_busy_machine() -> None:
    assert "load average 3.2 on 2 processors" in warnings(made_up_result(environment={"load_average": [3.2, 1, 1], "cpus": 2}))
    assert warnings(made_up_result(environment={"load_average": [2.9, 9, 9], "cpus": 2})) == ""


def test_a_slow_clock() -> None:
    """A step takes 1 s; reading the clock 30 ms of it."""
    assert "reading the clock takes 3.0% of plain's steps" in warnings(made_up_result(environment={"clock_seconds": 0.03}))


def test_plain_decoding_is_no_rival() -> None:
    """What is slower than plain decoding is said once."""
    assert not any("faster still" in sentence for sentence in made_up_result([0.5] * 10)["verdict"]["sentences"])
