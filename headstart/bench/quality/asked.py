"""Which measures of quality are wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.acceptance.walk import Exact
from headstart.bench.contestants import About
from headstart.errors import InvalidParameterError

PERPLEXITY, AGREEMENT, EXACT_MATCH, CODE = "perplexity", "agreement", "exact-match", "code"
KINDS = (PERPLEXITY, AGREEMENT, EXACT_MATCH, CODE)
AUTO, ALL, NONE = "auto", "all", "none"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What to measure besides the equality of texts, and against what.

    Raises:
        InvalidParameterError: an unknown measure.
    """

    kinds: str = AUTO
    """Measures with commas between them, "all" or "none"; "auto" is all where a text may be another than the base model's by a rule
    of acceptance or because the base is another model, else none: texts are then compared token for token."""
    tasks: Path | None = None
    """A file of questions with references and of functions to write; None takes the bundled ones."""
    base: str | None = None
    """The model that answers are measured against; None is the loaded one, decoded plainly."""

    def __post_init__(self) -> None:
        unknown = [name for name in self._names if name not in (*KINDS, AUTO, ALL, NONE)]
        if unknown or (len(self._names) != 1 and set(self._names) & {AUTO, ALL, NONE}):
            raise InvalidParameterError(
                f"quality is {self.kinds!r}; expected some of {', '.join(KINDS)}, or one of auto, all, none"
            )

    def wanted(self, who: Sequence[About]) -> tuple[str, ...]:
        """The measures, in the order of ``KINDS``."""
        if self.kinds == AUTO:
            other = self.base is not None or any(each.ours and each.acceptance != Exact.name for each in who)
            return KINDS if other else ()
        return tuple(kind for kind in KINDS if kind in self._names or self.kinds == ALL)

    @property
    def _names(self) -> list[str]:
        return [name.strip() for name in self.kinds.split(",")]
