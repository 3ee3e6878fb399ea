import json
import math

from headstart.finite import finite


def test_what_json_has_no_word_for_becomes_null() -> None:
    value = {"a": [1.25, math.nan, (math.inf, 3)], 8: {"b": -math.inf, "c": "text", "d": True}}
    assert finite(value) == {"a": [1.25, None, [None, 3]], "8": {"b": None, "c": "text", "d": True}}
    json.dumps(finite(value), allow_nan=False)


def test_digits_are_kept_unless_they_are_limited() -> None:
    assert finite([1 / 3, 12345678]) == [1 / 3, 12345678]
    assert finite([1 / 3, 123456.789, 12345678], 3) == [0.333, 123000.0, 12345678]
