"""Where the time of a step goes."""

import pytest

from headstart.errors import InvalidParameterError, PromptError
from headstart.tuning.pass_split import PassSplit
from headstart.tuning.step_profile import StepProfile, step_profile
from tests.tiny_llm import busy, tiny_llm
from tests.tiny_models import letter_ids


def test_a_text_that_is_known() -> None:
    # heads that are always right, in a chain of three: a step emits four letters, so 16 after the first take 4 steps
    llm = tiny_llm()
    profile = step_profile(llm, letter_ids("a"), tokens=17)
    assert (profile.drafter, profile.nodes, profile.steps, profile.emitted) == ("combined", 4, 4, 17)
    assert profile.tokens_per_step == 4.0
    assert set(profile.phases) == {"draft", "verify", "accept", "commit", "other"}
    assert all(seconds >= 0 for seconds in profile.phases.values())
    assert profile.verify is not None
    assert not busy(llm)


def test_plain_decoding() -> None:
    profile = step_profile(tiny_llm(), letter_ids("a"), drafter="none", tokens=9)
    assert (profile.nodes, profile.steps, profile.tokens_per_step) == (1, 8, 1.0)


def test_no_stop_ends_it_early() -> None:
    # the text ends with </s> after seven letters, and goes on
    assert step_profile(tiny_llm(), letter_ids(".,!?"), drafter="none", tokens=20).emitted == 20


def test_shares() -> None:
    phases = {"draft": 1.0, "verify": 16.0, "accept": 1.0, "commit": 1.5, "other": 0.5}
    split = PassSplit(products=1.0, attention=1.0, small=1.0, between=1.0)
    profile = StepProfile(drafter="medusa", nodes=8, steps=10, emitted=21, phases=phases, verify=split)
    assert profile.step == 20.0
    assert profile.share("draft") == 0.05
    assert profile.outside == pytest.approx(0.15)
    assert profile.tokens_per_step == 2.0


def test_what_gives_no_step() -> None:
    with pytest.raises(InvalidParameterError, match="ask for more tokens"):
        step_profile(tiny_llm(), letter_ids("a"), tokens=1)
    with pytest.raises(PromptError):
        step_profile(tiny_llm(), [])
