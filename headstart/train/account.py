"""What became of the rows of a run's data: read = written + skipped + failed, with the reasons."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headstart.errors import DataError

_NAMED = 5
NOT_NEEDED = "not needed, there were answers enough"
NO_ANSWER = "gave no answer"


@dataclass(frozen=True)
class Lost:
    """A row that gave no answer to train on."""

    kind: Literal["skipped", "failed"]
    """Left out on purpose, or tried in vain."""
    reason: str
    """The same words for all rows with this reason: they are counted by it."""
    detail: str = ""
    """Where the row stands and what exactly was wrong with it; may be empty."""


@dataclass
class Account:
    """The account of a run. A self-written conversation counts as a row that was read when it was begun."""

    read: int
    written: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)
    """The first rows that were lost to a mistake in them."""

    def lose(self, rows: Iterable[Lost]) -> None:
        for row in rows:
            (self.skipped if row.kind == "skipped" else self.failed)[row.reason] += 1
            if row.detail and len(self.named) < _NAMED:
                self.named.append(row.detail)

    def check(self) -> None:
        """Raises DataError if rows are missing from the account or counted twice."""
        counted = self.written + self.skipped.total() + self.failed.total()
        if counted != self.read:
            raise DataError(
                f"the account of rows does not add up: {self.read:,} read, but {counted:,} written, skipped or failed. Some of the"
                " run's shards are not of these data; train into an empty directory"
            )

    @property
    def line(self) -> str:
        """One line for people."""
        return (
            f"rows: {self.read:,} read = {self.written:,} written + {_counted(self.skipped, 'skipped')}"
            f" + {_counted(self.failed, 'failed')}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "read": self.read,
            "written": self.written,
            "skipped": dict(self.skipped),
            "failed": dict(self.failed),
            "named": self.named,
        }


def check_bad_rows(bad: Sequence[Lost], limit: int) -> None:
    """Raises DataError when there are more bad rows than ``limit``; it names the first ones."""
    if len(bad) <= limit:
        return
    listed = "\n  ".join(row.detail for row in bad[:_NAMED])
    if len(bad) == 1:
        raise DataError(bad[0].detail)
    raise DataError(
        f"more than {limit:,} bad rows; the first ones are:\n  {listed}\nMend the data, or let more of them be left out with"
        " --max-bad-rows"
    )


def _counted(reasons: Counter[str], what: str) -> str:
    each = "; ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    return f"{reasons.total():,} {what}" + (f" ({each})" if each else "")
