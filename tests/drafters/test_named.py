"""Which drafters there are, and which one is taken without a name."""

import pytest

from headstart.drafters.named import chosen_drafter, named_drafters
from headstart.errors import InvalidParameterError
from tests.tiny_models import alphabet_heads, alphabet_model, native


def test_with_heads() -> None:
    model = native(alphabet_model())
    drafters = named_drafters(model, alphabet_heads(model))
    assert sorted(drafters) == ["combined", "medusa", "medusa-static", "ngram", "none"]
    assert {name: drafter.facts.name for name, drafter in drafters.items()} == {name: name for name in drafters}
    assert chosen_drafter("auto", drafters) == "combined"
    assert chosen_drafter("ngram", drafters) == "ngram"
    with pytest.raises(InvalidParameterError, match=r"'hydra' is not available.*; the heads that are loaded are of another kind"):
        chosen_drafter("hydra", drafters)


def test_without_heads() -> None:
    drafters = named_drafters(native(alphabet_model()), None)
    assert sorted(drafters) == ["ngram", "none"]
    assert chosen_drafter("auto", drafters) == "ngram"  # it needs no training
    with pytest.raises(InvalidParameterError, match=r"'combined' is not available.*\['ngram', 'none'\].*name them with heads="):
        chosen_drafter("combined", drafters)
    with pytest.raises(InvalidParameterError, match=r"'eagle' is not available; expected one of \['ngram', 'none'\]$"):
        chosen_drafter("eagle", drafters)
