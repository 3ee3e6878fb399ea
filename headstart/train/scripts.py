"""How a conversation comes about: a generator that asks for texts one after another and ends with its answers.

A script yields an :class:`Ask` and is sent the :class:`Reply`; the pool runs many of them over one engine. Ids, texts and
seeds depend on the run's seed and the conversation's number alone.
"""

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import torch

from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.text.tokenizer import Tokenizer
from headstart.train.account import Lost
from headstart.train.decontamination import SHARES, EvaluationPrompts
from headstart.train.questions import Opening, follow_up, opening
from headstart.train.recorder import RECORD
from headstart.train.shards import Answer

FOLLOW_UP_EVERY = 2
"""Every second self-written conversation gets a second question, made from its first answer."""
SAMPLED_EVERY = 3  # every third answer is sampled: heads have to serve greedy and sampled decoding
SAMPLED_TEMPERATURE = 0.8
_SAMPLED = SamplingParams(temperature=SAMPLED_TEMPERATURE, top_k=64)
_QUESTION = SamplingParams(temperature=1.0, top_k=64)
_SHORTEST_PASSAGE = 24  # ids; nothing can be asked about less
_TEXT_PROMPT = 32  # ids of a plain text that the base model is given to write on from
NO_ROOM = "leaves no room in the context"
NO_QUESTION = "no question came about"


@dataclass(frozen=True)
class Ask:
    """One text wanted of the base model."""

    request: Request
    stages: int
    """How many texts the script may still ask for, this one included; the longest way is started first."""
    answer: bool = True
    """Whether it becomes training data; False for the questions."""


@dataclass(frozen=True)
class Reply:
    """What the base model wrote, and a state for each id but the last."""

    ids: list[int]
    hidden_TD: torch.Tensor


Script = Generator[Ask, Reply, list[Answer]]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What all conversations of a run share."""

    tokenizer: Tokenizer
    seed: int
    stop_ids: frozenset[int]
    context_length: int
    max_new_tokens: int = 160
    evaluation: EvaluationPrompts | None = None
    """Prompts that no question may be like."""
    lost: dict[int, Lost] = field(default_factory=dict)
    """Why conversations gave no answer; scripts write it."""

    def sample_seed(self, conversation: int, turn: int) -> int:
        """Another seed for each text. Self-written questions share their prompt: with one seed all would be the same."""
        digest = hashlib.blake2b(f"{self.seed}:{conversation}:{turn}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    def answer(self, prompt_ids: Sequence[int], conversation: int, turn: int, *, sampled: bool, stages: int) -> Ask | None:
        """The request for a recorded answer; None where the prompt leaves no room for one."""
        if len(prompt_ids) + 2 > self.context_length:
            if turn == 1:
                self.skip(conversation, NO_ROOM)
            return None
        request = Request(
            prompt_ids=prompt_ids,
            params=_SAMPLED if sampled else SamplingParams(),
            seed=self.sample_seed(conversation, turn),
            max_new_tokens=self.max_new_tokens,
            stop_ids=self.stop_ids,
            drafter=RECORD,
        )
        return Ask(request, stages)

    def skip(self, conversation: int, reason: str) -> None:
        self.lost[conversation] = Lost("skipped", reason)

    def alike(self, question: str) -> bool:
        return self.evaluation is not None and self.evaluation.alike(question)


def self_written(number: int, recipe: Recipe) -> Script:
    """A question (whole, or begun here and completed by the model), its answer, and every second time a question about it."""
    first = opening(number, recipe.seed)
    again = number % FOLLOW_UP_EVERY == 0
    question = first.text
    if not first.complete:
        start = _completion_of(first, number, recipe, stages=3 if again else 2)
        if len(start.request.prompt_ids) >= recipe.context_length:
            recipe.skip(number, NO_ROOM)
            return []
        reply = yield start
        question = first.text.rstrip(" ") + recipe.tokenizer.decode(reply.ids)
    answers: list[Answer] = []
    if not question.strip() or recipe.alike(question):
        recipe.skip(number, SHARES if question.strip() else NO_QUESTION)
        return answers
    passage = yield from _chat_answer([_user(question)], number, 1, number, recipe, answers, first.kind, stages=2 if again else 1)
    if again and passage and passage.strip() and len(answers[-1].ids) >= _SHORTEST_PASSAGE:
        order = number // FOLLOW_UP_EVERY
        second = follow_up(order, recipe.seed, passage)
        if recipe.alike(second.text):
            return answers
        yield from _chat_answer([_user(second.text)], number, 2, order, recipe, answers, second.kind, stages=1)
    return answers


def regenerated(number: int, messages: Sequence[dict[str, str]], recipe: Recipe) -> Script:
    """Given user turns, each answered anew by the base model with its own earlier answers as the history."""
    answers: list[Answer] = []
    history: list[dict[str, str]] = []
    turns = sum(message["role"] == "user" for message in messages)
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            continue
        history.append(message)
        if not is_answered(messages, i):
            continue
        stages = turns - len(answers)
        text = yield from _chat_answer(history, number, len(answers) + 1, number, recipe, answers, "given", stages=stages)
        if text is None:
            break
        history.append({"role": "assistant", "content": text})
    return answers


def is_answered(messages: Sequence[dict[str, str]], i: int) -> bool:
    """Whether the message is a user's that an answer comes after: the last of several in a row, or of all."""
    followed_by = messages[i + 1]["role"] if i + 1 < len(messages) else "assistant"
    return messages[i]["role"] == "user" and followed_by == "assistant"


def continued(number: int, text: str, recipe: Recipe) -> Script:
    """The beginning of a given plain text, written on by the base model."""
    answers: list[Answer] = []
    prompt_ids = recipe.tokenizer.encode(text)[:_TEXT_PROMPT]
    sampled = number % SAMPLED_EVERY == SAMPLED_EVERY - 1
    if not prompt_ids:
        recipe.skip(number, NO_QUESTION)
        return answers
    ask = recipe.answer(prompt_ids, number, 1, sampled=sampled, stages=1)
    if ask is not None:
        _keep((yield ask), ask.request, "text", answers)
    return answers


def _completion_of(start: Opening, number: int, recipe: Recipe, *, stages: int) -> Ask:
    """The rest of a user's turn: the chat template up to the user's text, the opening, and the model goes on."""
    request = Request(
        prompt_ids=recipe.tokenizer.user_turn_prefix_ids(start.text.rstrip(" ")),
        params=_QUESTION,
        seed=recipe.sample_seed(number, 0),
        max_new_tokens=max(1, start.max_new_tokens),
        stop_ids=recipe.stop_ids,
        drafter=RECORD,
    )
    return Ask(request, stages, answer=False)


def _chat_answer(
    messages: Sequence[dict[str, str]],
    number: int,
    turn: int,
    order: int,
    recipe: Recipe,
    answers: list[Answer],
    kind: str,
    *,
    stages: int,
) -> Generator[Ask, Reply, str | None]:
    """Ask for the answer to ``messages`` and keep it; its text, or None where the context has no room for it."""
    prompt_ids = recipe.tokenizer.chat_ids(list(messages))
    ask = recipe.answer(prompt_ids, number, turn, sampled=order % SAMPLED_EVERY == SAMPLED_EVERY - 1, stages=stages)
    if ask is None:
        return None
    reply = yield ask
    _keep(reply, ask.request, kind, answers)
    return recipe.tokenizer.decode(reply.ids)


def _keep(reply: Reply, request: Request, kind: str, answers: list[Answer]) -> None:
    answers.append(Answer(request.prompt_ids, reply.ids, reply.hidden_TD, request.params.greedy, kind))


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
