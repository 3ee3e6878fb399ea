"""Which measures a name stands for."""

import pytest

from headstart.bench.contestants import About
from headstart.bench.quality.asked import KINDS, Asked
from headstart.errors import InvalidParameterError
from tests.bench.made_up import MEDUSA, PLAIN, THEIRS

TYPICAL = About(name="medusa+typical", ours=True, drafter="medusa", acceptance="typical", lossy=True)


def test_auto_is_for_texts_that_may_be_other_ones() -> None:
    assert Asked().wanted([MEDUSA, PLAIN, THEIRS]) == ()  # compared token for token
    assert Asked().wanted([MEDUSA, PLAIN, TYPICAL]) == KINDS
    assert Asked(base="another").wanted([MEDUSA, PLAIN]) == KINDS


def test_named() -> None:
    assert Asked(kinds="code, perplexity").wanted([PLAIN]) == ("perplexity", "code")
    assert Asked(kinds="all").wanted([PLAIN]) == KINDS
    assert Asked(kinds="none", base="another").wanted([TYPICAL]) == ()


@pytest.mark.parametrize("kinds", ["speed", "", "auto,code", "all,none", "code,"])
def test_mistakes(kinds: str) -> None:
    with pytest.raises(InvalidParameterError, match="expected some of perplexity, agreement, exact-match, code"):
        Asked(kinds=kinds)
