import json
from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.train.conversations import Given, Reading
from headstart.train.decontamination import EvaluationPrompts, decontaminated, evaluation_prompts

PROMPT = "Explain to a twelve-year-old why the sky turns red in the evening."


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("Please EXPLAIN, to a twelve year old: why the sky is blue", True),  # 8 words: explain ... the
        ("Explain to a twelve-year-old why grass grows", False),  # 7 in a row
        ("hi", True),  # shorter than a run, and the whole text
        ("hi there", False),
        ("为什么天空在傍晚会变红", True),  # each character counts, so 8 in a row are found without spaces
        ("天空", False),
        ("", False),
    ],
)
def test_what_counts_as_alike(text: str, alike: bool) -> None:
    prompts = EvaluationPrompts([PROMPT, "Hi!", "请问，为什么天空在傍晚会变红？", ""], words=8)
    assert prompts.alike(text) is alike


def test_the_bundled_prompts_and_further_files_count_with_all_turns(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(
        json.dumps({"turns": ["one two three four five six seven eight", "a b c d e f g h i"]})
        + '\n{"messages": [{"role": "user", "content": "short"}, {"role": "assistant", "content": "said by the model"}]}\n'
    )
    prompts = evaluation_prompts([path], 8)
    assert prompts.alike(PROMPT)  # a bundled one
    assert prompts.alike("b c d e f g h i")  # the second turn
    assert prompts.alike("Short!")
    assert not prompts.alike("said by the model")
    with pytest.raises(DataError, match="cannot be read"):
        evaluation_prompts([tmp_path / "none"], 8)


def test_a_row_is_lost_whatever_part_is_alike() -> None:
    fine = Given("f:1", messages=[{"role": "user", "content": "What is rain?"}])
    later = Given("f:2", messages=[{"role": "user", "content": "Hello"}, {"role": "user", "content": PROMPT}])
    text = Given("f:3", text=f"Once. {PROMPT} The end.")
    reading = decontaminated(Reading([fine, later, text]), EvaluationPrompts([PROMPT], 8))
    assert reading.rows == [fine]
    assert [row.reason for row in reading.lost] == ["shares words with an evaluation prompt"] * 2
