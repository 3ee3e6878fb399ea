"""Text in, text out: ``load`` a model, then ``generate``, ``chat`` or ``stream``."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import torch
from transformers import PreTrainedModel

from headstart.completion import Chunk, Completion
from headstart.drafters.draft_loading import LoadedDraft, load_draft
from headstart.drafters.draft_options import DraftOptions
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.named import OF_HEADS, chosen_drafter, named_drafters
from headstart.drafters.ngram import NODES as NGRAM_NODES
from headstart.engine.budget import TreeBudget
from headstart.engine.engine import Engine
from headstart.engine.event import Event
from headstart.engine.presumed_budget import presumed_budgets
from headstart.engine.priced_budget import PricedBudget
from headstart.engine.tuned_budget import tuned_budgets
from headstart.errors import CapacityError, InvalidParameterError, PromptError
from headstart.finding_heads import find_heads
from headstart.job import Job, broken_off
from headstart.models.compiled import CompiledModel
from headstart.models.loading import load_model
from headstart.models.protocol import BaseModel
from headstart.models.threads import cpu_threads
from headstart.options import GenerationOptions
from headstart.request import Request
from headstart.sampling.noise import fold, fresh_seed
from headstart.text.bad_words import bad_word_ids
from headstart.text.chat import Messages
from headstart.text.output import TextOutput
from headstart.text.prompt import Prompt, chat_ids, is_messages, is_one_conversation, is_one_prompt, prompt_ids
from headstart.text.tokenizer import Tokenizer

logger = logging.getLogger("headstart")

Read = Callable[[Any, Tokenizer | None], Sequence[int]]

_NODES = 8  # of a draft model's tree: a pass takes hardly longer than one over the root alone
_NODES_OF = {"ngram": NGRAM_NODES, "draft-model": _NODES}  # by the drafter's name; the others have heads, which recommend a number


def load(
    model: "str | Path | PreTrainedModel",
    *,
    heads: str | Path | None = "auto",
    draft_model: "str | Path | PreTrainedModel | DraftOptions | None" = None,
    drafter: str = "auto",
    nodes: int | None = None,
    dtype: str | torch.dtype = "auto",
    device: str | torch.device = "auto",
    threads: int | None = None,
    max_context: int | None = None,
    max_rows: int | None = None,
    cache_tokens: int | None = None,
    bitwise: bool = True,
    weights: str | None = None,
    compile: bool | Literal["auto"] = "auto",
) -> "LLM":
    """Load a causal language model and, where there are some, its heads.

    Args:
        model: "bundled", a directory, a hub id, a GGUF file, or a loaded ``PreTrainedModel`` (used as it is).
        heads: a heads directory or hub id; None for none; "auto": the bundled model's, else those beside the model, else none.
        draft_model: a smaller model that drafts, as a name, a loaded model, or ``DraftOptions``.
        drafter: "medusa" (a tree grown anew each step), "medusa-static" (the heads' own static tree), "hydra" and "hydra-static",
            "mtp" and "mtp-static" (the same for heads of those kinds), "ngram" (what followed the same ids before; needs no
            heads), "combined" (heads and n-grams in one tree), "draft-model" or "none" (plain decoding); "auto": the draft model
            if one is named, else combined with heads, else ngram. None changes the text.
        nodes: how many tree nodes a pass may hold, the root included; None takes what pays here for the rows that are running,
            beginning with what ``headstart tune`` has measured or else the heads recommend; at most 12 for "ngram", 8 for a draft
            model. The recommended number stays where it is unknown what trees give (heads without counts), where every size has to
            be compiled (``compile``), and where the text depends on its trees (lossy rules and "rejection"; there 12 and 8 too).
        dtype: "auto" is bfloat16 where the processor has it, else float32.
        device: "auto" is the first of CUDA, MPS and CPU.
        threads: CPU threads while generating, put back to the caller's number after each step. None takes the caller's number,
            but no more than there are physical cores.
        max_context: a context length below the model's.
        max_rows: how many texts are decoded at once; further ones wait.
        cache_tokens: how many positions the cache may hold, all rows together.
        bitwise: in bfloat16 on a CPU, let the native decoder keep a token's logits the same bits in any tree, batch and chunk,
            so that texts are equal there too; False takes the fastest attention instead.
        weights: "int8" or "int4" lets the native decoder round its matrices to so many bits on a CPU: faster, and another text
            than the model's own. None rounds nothing.
        compile: run the native decoder in passes of fixed shapes under ``torch.compile``, with CUDA graphs where there is CUDA;
            they are compiled here and now. "auto" does so on CUDA alone.

    Raises:
        ModelNotFoundError, UnsupportedModelError, HeadsError, TreeError, InvalidParameterError.
    """
    limits = {"nodes": nodes, "threads": threads, "max_context": max_context, "max_rows": max_rows, "cache_tokens": cache_tokens}
    for name, value in limits.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise InvalidParameterError(f"{name} is {value!r}; expected a whole number")
        if value is not None and value < 1:
            raise InvalidParameterError(f"{name} is {value}; expected at least 1")
    if compile not in (True, False, "auto"):
        raise InvalidParameterError(f"compile is {compile!r}; expected True, False or 'auto'")
    how: dict[str, Any] = {"max_rows": max_rows, "cache_tokens": cache_tokens, "compile": compile}
    where: dict[str, Any] = {"dtype": dtype, "device": device, "max_context": max_context}
    with cpu_threads(threads):  # what is tried at load holds for the number of threads that will decode
        base, hf_tokenizer = load_model(model, bitwise=bitwise, weights=weights, **where, **how)
        draft = load_draft(draft_model, base, hf_tokenizer, **how)
    found = find_heads(model, heads)
    if found is None and heads == "auto" and drafter == "auto" and draft is None:
        logger.warning(
            "no heads for %s: guessing from the text alone. Train some with `headstart train`, or name them with heads=",
            base.facts.name,
        )
    tokenizer = None if hf_tokenizer is None else Tokenizer(hf_tokenizer)
    llm = LLM(base, tokenizer, heads=found, draft=draft, drafter=drafter, nodes=nodes, threads=threads)
    if isinstance(base, CompiledModel):
        base.warm(nodes=llm.engine.sizes(llm.drafter))
    return llm


class LLM:
    """A loaded model. Calls from several threads are serialised step by step and decoded in one batch.

    Args:
        model: the base model.
        tokenizer: None where there is none; then prompts are lists of ids and results have no text.
        heads: a loaded heads directory, if there are heads.
        draft: a loaded draft model, if there is one.
    """

    def __init__(
        self,
        model: BaseModel,
        tokenizer: Tokenizer | None,
        *,
        heads: HeadsDirectory | None = None,
        draft: LoadedDraft | None = None,
        drafter: str = "auto",
        nodes: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.heads = heads
        budgets: dict[str, TreeBudget] = {}
        if nodes is None:
            budgets["ngram"] = PricedBudget(NGRAM_NODES)
        if heads is not None:
            heads.check_base(model)
            if nodes is None:
                budgets |= tuned_budgets(heads, model, threads)
        drafters = named_drafters(model, heads, draft)
        if heads is not None and nodes is None:
            budgets = presumed_budgets(heads, model, [name for name in drafters if name in OF_HEADS]) | budgets
        self.drafter = chosen_drafter(drafter, drafters)
        self._engine = Engine(
            model,
            drafters,
            nodes=nodes or (heads.nodes if heads is not None else _NODES),
            nodes_of=_NODES_OF if nodes is None else None,
            budgets=budgets,
        )
        self._threads = threads
        self._lock = threading.RLock()
        self._inbox: dict[int, deque[Event]] = {}

    @overload
    def generate(self, prompts: str | list[int], **options: Any) -> Completion: ...
    @overload
    def generate(self, prompts: list[str] | list[list[int]], **options: Any) -> list[Completion]: ...
    def generate(self, prompts: Prompt | Sequence[Prompt], **options: Any) -> Completion | list[Completion]:
        """Continue prompts. A string or a list of ids gives one :class:`Completion`; a list of those gives a list, in order.

        ``options`` are those of :class:`GenerationOptions`. In a list, a prompt that fails while it is decoded comes back with
        the finish reason "error" and takes no other along; a single one raises.

        Raises:
            PromptError, CapacityError, InvalidParameterError.
        """
        single = is_one_prompt(prompts)
        many: Sequence[Prompt] = [prompts] if single else prompts  # type: ignore[list-item, assignment]
        completions = self._run(many, prompt_ids, GenerationOptions.of(options))
        return _only(completions) if single else completions

    @overload
    def chat(self, messages: str | list[dict[str, str]], **options: Any) -> Completion: ...
    @overload
    def chat(self, messages: list[str] | list[list[dict[str, str]]], **options: Any) -> list[Completion]: ...
    def chat(self, messages: Messages | Sequence[Messages], **options: Any) -> Completion | list[Completion]:
        """Answer a conversation, written by the model's chat template.

        A string (one message of the user) or a list of messages (dicts with ``role`` and ``content``) gives one
        :class:`Completion`; a list of those gives a list. Options as in :meth:`generate`.

        Raises:
            ChatTemplateError: the model has no chat template, or it refuses the messages.
            PromptError, CapacityError, InvalidParameterError.
        """
        single = is_one_conversation(messages)
        many: Sequence[Messages] = [messages] if single else messages  # type: ignore[list-item, assignment]
        completions = self._run(many, chat_ids, GenerationOptions.of(options))
        return _only(completions) if single else completions

    def stream(self, prompt: Prompt | Messages, *, chat: bool = False, **options: Any) -> Generator[Chunk, None, None]:
        """Continue one prompt and hand over each step's text at once; a list of messages (or ``chat=True``) is a conversation.

        The last chunk has the finish reason and the whole :class:`Completion`. Closing the iterator cancels the request and
        frees its row. Raises what :meth:`generate` and :meth:`chat` raise, before the first chunk.
        """
        read: Read = chat_ids if chat or is_messages(prompt) else prompt_ids
        wanted = GenerationOptions.of(options)
        job = self._job(read(prompt, self.tokenizer), _seeds(wanted.seed, 1)[0], wanted)
        self._submit(job)
        chunks = self._chunks(job)
        next(chunks)  # a generator that has not begun runs no `finally` when it is closed
        return chunks

    @property
    def engine(self) -> Engine:
        """What decodes. Whoever steps it himself, to measure it for instance, must not call the LLM meanwhile."""
        return self._engine

    def close(self) -> None:
        """Cancel everything that is still being decoded; open streams end with the finish reason "cancelled"."""
        with self._lock:
            for number, inbox in self._inbox.items():
                event = self._engine.cancel(number)
                if event is not None:
                    inbox.append(event)

    def __enter__(self) -> "LLM":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, prompts: Sequence[Any], read: Read, options: GenerationOptions) -> list[Completion]:
        """Decode all prompts together, at most ``max_rows`` of them and ``cache_tokens`` positions at once.

        Everything about every prompt is checked before the first of them is decoded.
        """
        jobs: list[Job] = []
        slots: list[int] = []
        most = options.cache_tokens
        for i, seed in enumerate(_seeds(options.seed, len(prompts))):
            try:
                jobs.append(self._job(read(prompts[i], self.tokenizer), seed, options))
                slots.append(self._engine.check(jobs[i].request))
                if most is not None and slots[i] > most:
                    raise CapacityError(
                        f"a prompt of {len(jobs[i].request.prompt_ids)} tokens takes up to {slots[i]} positions to the end of its"
                        f" text; cache_tokens is {most}. Ask for fewer max_new_tokens, or allow more cache_tokens"
                    )
            except (PromptError, CapacityError) as error:
                if len(prompts) == 1:
                    raise
                raise type(error)(f"prompts[{i}]: {error}") from error
        waiting = deque(range(len(jobs)))
        results: dict[int, Completion] = {}
        running: set[int] = set()
        try:
            while waiting or running:
                while waiting and len(running) < (options.max_rows or len(jobs)):
                    if most is not None and sum(slots[i] for i in running) + slots[waiting[0]] > most:
                        break
                    running.add(waiting[0])
                    self._submit(jobs[waiting.popleft()])
                for i in sorted(running):
                    for chunk in self._next(jobs[i]):
                        if chunk.completion is not None:
                            results[i] = chunk.completion
                            running.remove(i)
        finally:
            for i in running:
                self._drop(jobs[i])
        return [results[i] for i in range(len(jobs))]

    def _job(self, ids: Sequence[int], seed: int, options: GenerationOptions) -> Job:
        output = TextOutput(self.tokenizer, options.stop_strings, options.min_new_tokens)
        if options.stop_strings and output.matcher is None:
            raise InvalidParameterError("stop strings need a tokenizer, and this model came without one; use stop_ids")
        eos = frozenset() if options.ignore_eos else frozenset(self.model.facts.eos_ids) | self._end_of_turn
        request = Request(
            prompt_ids=ids,
            params=replace(options.sampling, bad_words=bad_word_ids(self.tokenizer, options.bad_words or ())),
            seed=seed,
            max_new_tokens=options.max_new_tokens,
            min_new_tokens=options.min_new_tokens,
            stop_ids=eos | frozenset(options.stop_ids or ()),
            matcher=output.matcher,
            drafter=chosen_drafter(options.drafter or self.drafter, self._engine.drafters),
            nodes=options.nodes,
            max_context=options.max_context,
            acceptance=options.acceptance,
            acceptance_options=options.acceptance_options,
            draft_temperature=options.draft_temperature,
            logprobs=options.top_logprobs if options.logprobs or options.top_logprobs else None,
        )
        return Job(request, output, options.threads or self._threads)

    def _submit(self, job: Job) -> None:
        with self._lock:
            job.number = self._engine.add(job.request)
            self._inbox[job.number] = deque()

    @property
    def _end_of_turn(self) -> frozenset[int]:
        return frozenset() if self.tokenizer is None else self.tokenizer.end_of_turn_ids

    def _chunks(self, job: Job) -> Generator[Chunk, None, None]:
        """The chunks of a request, after an empty one for :meth:`stream` itself."""
        finished = False
        try:
            yield Chunk(text="", token_ids=())
            while not finished:
                for chunk in self._next(job):
                    finished = chunk.finish_reason is not None
                    if chunk.completion is not None and chunk.completion.error is not None:
                        raise chunk.completion.error
                    yield chunk
        finally:
            if not finished:
                self._drop(job)

    def _next(self, job: Job) -> list[Chunk]:
        """What has come for a request; steps the engine (for everybody) until something has."""
        with self._lock:
            inbox = self._inbox[job.number]
            while not inbox:
                self._step(job.threads)
            chunks: list[Chunk] = []
            while inbox and not (chunks and chunks[-1].completion):
                chunks.append(job.chunk(inbox.popleft()))
            if chunks[-1].completion is not None:
                self._drop(job)
        return chunks

    def _step(self, threads: int | None) -> None:
        try:
            with cpu_threads(threads):
                events = self._engine.step()
        except BaseException as error:  # the engine has given up all requests, those of other threads among them
            for number, inbox in self._inbox.items():
                inbox.append(broken_off(number, error))
            raise
        for event in events:
            if event.number in self._inbox:
                self._inbox[event.number].append(event)

    def _drop(self, job: Job) -> None:
        with self._lock:
            self._inbox.pop(job.number, None)
            event = self._engine.cancel(job.number)
        if event is not None and event.error is not None:
            logger.warning("the drafter failed to let go of a request: %s: %s", type(event.error).__name__, event.error)


def _seeds(seed: int | Sequence[int] | None, prompts: int) -> list[int]:
    if seed is None:
        return [fresh_seed() for _ in range(prompts)]
    if not isinstance(seed, Sequence):
        return [fold(int(seed), i) for i in range(prompts)]
    seeds = [fold(int(one), 0) for one in seed]
    if len(seeds) != prompts:
        raise InvalidParameterError(f"{len(seeds)} seeds for {prompts} prompts; expected one seed per prompt, or a single one")
    return seeds


def _only(completions: Sequence[Completion]) -> Completion:
    (completion,) = completions
    if completion.error is not None:
        raise completion.error
    return completion
