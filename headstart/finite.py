"""Values as JSON can hold them: it has no word for a number that is not finite."""

import math
from collections.abc import Mapping
from typing import Any


def finite(value: Any, digits: int | None = None) -> Any:
    """The same with None in place of each number that is not finite; rounded to so many ``digits`` if they are given."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    if isinstance(value, Mapping):
        return {str(key): finite(inner, digits) for key, inner in value.items()}
    return [finite(inner, digits) for inner in value] if isinstance(value, (list, tuple)) else value
