"""Recorded answers on disk: ids, and the hidden state that predicted each of them, in shards of fixed composition.

Shapes: T ids of an answer, S states of a shard, D hidden.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from headstart.errors import DataError
from headstart.train.atomic_file import write_atomically

CACHE, NO_STATES = "cache", "none"
"""What the metadata of a shard without states say."""
_COPY_AGAIN = "Copy it again; or delete it where it was recorded, and have that run make it anew by --resume"


@dataclass(frozen=True)
class Answer:
    """One answer of the base model and what it knew while writing it."""

    prompt_ids: Sequence[int]
    ids: Sequence[int]
    """The id that ended it included."""
    hidden_TD: torch.Tensor
    """State i predicted ``ids[i]``. One row less than ids: nothing follows the last id. No rows at all if they are not kept."""
    greedy: bool
    """Whether each id is the argmax, so that decoding can be simulated exactly."""
    kind: str

    def without_states(self) -> "Answer":
        return replace(self, hidden_TD=self.hidden_TD[:0].clone())


@dataclass(frozen=True)
class Place:
    """Where one answer lies among its shard's tensors, and what is known of it."""

    conversation: int
    greedy: bool
    kind: str
    prompt: slice
    """In ``prompt_tokens``."""
    answer: slice
    """In ``tokens``."""
    states: slice
    """In ``hidden_SD``, if the shard has states: one less than the answer has tokens."""

    @property
    def num_states(self) -> int:
        """Positions that heads can guess from."""
        count: int = self.states.stop - self.states.start
        return count


@dataclass(frozen=True)
class Shard:
    """One shard as it lies on disk. Hidden states stay there until they are read (memory-mapped)."""

    path: Path
    metadata: dict[str, str]
    conversation_ids: list[int]
    """Per answer, the conversation that it belongs to; numbered over the whole run."""
    prompt_lengths: list[int]
    answer_lengths: list[int]
    greedy: list[bool]
    kinds: list[str]
    prompt_tokens: torch.Tensor
    tokens: torch.Tensor
    """int32, all answers one after another."""
    hidden_SD: torch.Tensor
    """No rows where the run keeps no states."""

    def places(self) -> Iterator[Place]:
        """One answer after another."""
        prompt = answer = state = 0
        lengths = zip(self.prompt_lengths, self.answer_lengths, strict=True)
        about = zip(self.conversation_ids, self.greedy, self.kinds, strict=True)
        for (prompts, answers), known in zip(lengths, about, strict=True):
            ends = (prompt + prompts, answer + answers, state + max(0, answers - 1))
            yield Place(*known, slice(prompt, ends[0]), slice(answer, ends[1]), slice(state, ends[2]))
            prompt, answer, state = ends

    def conversations(self) -> list[list[Answer]]:
        """The answers as :func:`write_shard` takes them, each conversation's together; states still lie on the disk."""
        groups: dict[int, list[Answer]] = {}
        for place in self.places():
            prompt_ids, ids = self.prompt_tokens[place.prompt].tolist(), self.tokens[place.answer].tolist()
            answer = Answer(prompt_ids, ids, self.hidden_SD[place.states], place.greedy, place.kind)
            groups.setdefault(place.conversation, []).append(answer)
        return list(groups.values())


def shard_path(directory: Path, number: int) -> Path:
    return directory / f"shard-{number:05d}.safetensors"


def write_shard(path: Path, first: int, conversations: Sequence[Sequence[Answer]], metadata: Mapping[str, str]) -> int:
    """Write the answers of conversations ``first``, ``first + 1``, ... whole or not at all; returns the number of ids.

    Raises:
        TrainingError: the disk is full; nothing is left behind.
    """
    answers = [(first + i, answer) for i, group in enumerate(conversations) for answer in group if answer.ids]
    kinds = sorted({answer.kind for _, answer in answers})
    hidden = [answer.hidden_TD for _, answer in answers if len(answer.hidden_TD)]
    tensors = {
        "conversations": torch.tensor([number for number, _ in answers], dtype=torch.int32),
        "prompt_lengths": torch.tensor([len(answer.prompt_ids) for _, answer in answers], dtype=torch.int32),
        "answer_lengths": torch.tensor([len(answer.ids) for _, answer in answers], dtype=torch.int32),
        "greedy": torch.tensor([answer.greedy for _, answer in answers], dtype=torch.uint8),
        "kinds": torch.tensor([kinds.index(answer.kind) for _, answer in answers], dtype=torch.int32),
        "prompt_tokens": torch.tensor([i for _, answer in answers for i in answer.prompt_ids], dtype=torch.int32),
        "tokens": torch.tensor([i for _, answer in answers for i in answer.ids], dtype=torch.int32),
        "hidden": torch.cat(hidden) if hidden else torch.zeros(0, 1),
    }
    if metadata.get(CACHE) != NO_STATES:
        for _, answer in answers:
            assert len(answer.hidden_TD) == len(answer.ids) - 1, "one state for each id but the last"
    write_atomically(path, safetensors.torch.save(tensors, {**metadata, "kinds": "\n".join(kinds), "first": str(first)}))
    return len(tensors["tokens"])


def read_shard(path: Path, *, states: bool = True, advice: str = _COPY_AGAIN) -> Shard:
    """Open a shard. ``states`` says that its states are needed; ``advice`` is what to do if it is damaged.

    Raises:
        DataError: the file is missing or damaged, or was written without states and they are needed.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a dict)
        shard = Shard(
            path=path,
            metadata=metadata,
            conversation_ids=tensors["conversations"].tolist(),
            prompt_lengths=tensors["prompt_lengths"].tolist(),
            answer_lengths=tensors["answer_lengths"].tolist(),
            greedy=[bool(flag) for flag in tensors["greedy"].tolist()],
            kinds=[metadata["kinds"].split("\n")[i] for i in tensors["kinds"].tolist()],
            prompt_tokens=tensors["prompt_tokens"],
            tokens=tensors["tokens"],
            hidden_SD=tensors["hidden"],
        )
    except (OSError, SafetensorError, KeyError) as error:
        raise DataError(f"training shard {path} cannot be read: {error}. {advice}") from error
    if states and metadata.get(CACHE) == NO_STATES:
        raise DataError(
            f"training shard {path} holds no hidden states: its run was started with --cache none, or they did not fit on the disk."
            " Record the answers anew with --cache disk to have them"
        )
    return shard
