"""How many tasks are solved, by whom, and by how many more or fewer than by the base."""

from collections.abc import Mapping
from typing import Any

from headstart.bench.quality.proportions import paired_difference, wilson

Marks = Mapping[str, bool]
"""By the question's key: whether the answer was right."""


def score(mine: Marks, base: Marks, category: Mapping[str, str]) -> dict[str, Any]:
    """``right``; ``more_than_base`` over what both were asked, with ``gained`` and ``lost`` questions; ``by_category``: counts of
    right answers and of questions."""
    both = [key for key in mine if key in base]
    gained = sum(mine[key] and not base[key] for key in both)
    lost = sum(base[key] and not mine[key] for key in both)
    right = wilson(sum(mine.values()), len(mine))
    difference = paired_difference(gained, lost, len(both))
    by_category: dict[str, list[int]] = {}
    for key, was_right in mine.items():
        counts = by_category.setdefault(category[key], [0, 0])
        counts[0] += was_right
        counts[1] += 1
    return {
        "right": None if right is None else right.to_dict(),
        "more_than_base": None if difference is None else difference.to_dict(),
        "gained": gained,
        "lost": lost,
        "by_category": by_category,
    }
