"""What a question, or a batch of them, came to: the pairs that all comparisons are made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.bench.journal import Entry
from headstart.bench.plan import Plan, Setting
from headstart.bench.questions import Question
from headstart.bench.run import Run

BATCH = "batch"


@dataclass(frozen=True)
class Sample:
    """A question with its turns, or a batch; the turns of a question depend on each other and count as one."""

    key: str
    category: str
    runs: dict[str, list[Run]]
    """By contestant, one a turn. All of them wrote more than one token."""

    def tokens(self, name: str) -> int:
        return sum(run.tokens for run in self.runs[name])

    def decode_tokens(self, name: str) -> int:
        return sum(run.decode_tokens for run in self.runs[name])

    def seconds(self, name: str) -> float:
        return sum(run.seconds for run in self.runs[name])

    def decode_seconds(self, name: str) -> float:
        return sum(run.decode for run in self.runs[name])

    def rate(self, name: str) -> float:
        """Tokens per second of decoding, the prompts' passes left out."""
        return self.decode_tokens(name) / self.decode_seconds(name)

    def whole_rate(self, name: str) -> float:
        """Tokens per second from end to end."""
        return self.tokens(name) / self.seconds(name)


def samples_of(entries: Sequence[Entry], questions: Sequence[Question]) -> list[Sample]:
    """The samples of one setting, in order; those with a text too short to have a step are left out."""
    category = {question.key: question.category for question in questions}
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        if not entry.skipped:
            groups.setdefault(tuple(entry.prompts), []).append(entry)
    found = []
    for keys, group in groups.items():
        names = [name for name in group[0].runs if all(name in entry.runs for entry in group)]
        runs = {name: [entry.runs[name] for entry in group] for name in names}
        if all(sum(run.decode_tokens for run in each) and sum(run.decode for run in each) > 0 for each in runs.values()):
            label = category[keys[0]] if len(keys) == 1 else BATCH
            found.append(Sample(" ".join(keys), label, runs))
    return found


def entries_of(entries: dict[str, Entry], plan: Plan, setting: Setting, questions: Sequence[Question]) -> list[Entry]:
    """What the journal has of a setting, in the order of the plan."""
    return [entries[unit.key] for unit in plan.units(setting, questions) if unit.key in entries]
