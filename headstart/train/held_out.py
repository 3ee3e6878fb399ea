"""Conversations that are kept from training, to judge by."""

from collections.abc import Iterable, Sequence

from headstart.errors import DataError

SHARE, LEAST = 0.05, 8


def held_out(conversations: Sequence[int], share: float = SHARE, least: int = LEAST) -> set[int]:
    """Conversations kept from training: every n-th, so that all kinds are among them, at least ``least``."""
    wanted = max(least, round(share * len(conversations)))
    step = max(1.0, len(conversations) / wanted)
    return {conversations[int((i + 0.5) * step)] for i in range(min(wanted, len(conversations)))}


def check_enough(conversations: int, where: str, advice: str) -> None:
    """Raises DataError if there are too few to hold some out."""
    if conversations < 2 * LEAST:
        raise DataError(
            f"{conversations} conversations {where} are too few: {LEAST} are held out for evaluation, and as many have to be left."
            f" {advice}"
        )


def split(numbers: Iterable[int], where: str, advice: str) -> tuple[set[int], set[int]]:
    """The conversations to train on, and those to judge by. ``where`` they are, and what there is to do if they are too few.

    Raises:
        DataError: they are too few.
    """
    conversations = sorted(set(numbers))
    check_enough(len(conversations), where, advice)
    aside = held_out(conversations)
    return set(conversations) - aside, aside
