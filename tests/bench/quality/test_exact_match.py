"""The four rules by which an answer meets a reference."""

import pytest

from headstart.bench.quality.exact_match import last_number, matches, plain_words


@pytest.mark.parametrize(
    ("answer", "reference", "match", "met"),
    [
        ("Rome.", "rome", "exact", True),
        ("The Rome", "Rome", "exact", True),  # articles do not count
        ("It is Rome", "Rome", "exact", False),
        ("Yes, it is.", "yes", "begins", True),
        ("Yesterday", "yes", "begins", False),
        ("No. Yes?", "yes", "begins", False),
        ("The capital of Italy is Rome.", "Rome", "contains", True),
        ("Romeo", "Rome", "contains", False),
        ("In New\n York City", "new york", "contains", True),
        ("New, or York", "new york", "contains", False),
        ("Water is H₂O", "H2O", "contains", True),  # NFKC writes the small 2 as a 2
        ("the a an", "Rome", "contains", False),
        ("7 + 5 = 12.", "12", "number", True),
        ("12 is 7 + 5", "12", "number", False),  # the last one counts
        ("about 1,200.0", "1200", "number", True),
        ("minus 3 is -3", "-3", "number", True),
        ("twelve", "12", "number", False),
        ("It is \u22125", "-5", "number", True),  # a minus as it is printed
        ("It is \u22125", "5", "number", False),
        ("He loses -$12.50", "-12.50", "number", True),
        ("The range is 10-12", "12", "number", True),
        ("x(2)-3", "3", "number", True),
        ("It costs $.50", "0.50", "number", True),
        ("It costs $.50", "50", "number", False),
        ("दिन", "दान", "exact", False),  # vowel signs are parts of words
        ("Vitamin C", "Vitamin A", "contains", False),  # the last word is no article
        ("It is A.", "A", "contains", True),
        ("He pays\n#### 40", "200*.2=<<200*.2=40>>40\n#### 40", "number", True),  # a worked reference
    ],
)
def test_rules(answer: str, reference: str, match: str, met: bool) -> None:
    assert matches(answer, [reference], match) is met
    assert matches(answer, ["xyzzy 99", reference], match) is met  # one of several is enough


def test_words_and_numbers() -> None:
    assert plain_words(" An apple, THE Ápple; another_one!") == ["apple", "ápple", "another", "one"]
    assert last_number("no number") is None
    assert last_number("from 1,000,000 to 2.50") == 2.5
