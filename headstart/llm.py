"""Text in, text out: ``load`` a model, then ``generate``, ``chat`` or ``stream``."""

import logging
import threading
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import torch
from transformers import PreTrainedModel

from headstart.completion import Chunk, Completion, TokenLogprob
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.named import chosen_drafter, named_drafters
from headstart.engine.budget import TreeBudget
from headstart.engine.engine import Engine
from headstart.engine.event import Event
from headstart.engine.tuned_budget import tuned_budgets
from headstart.errors import ChatTemplateError, InvalidParameterError, PromptError
from headstart.finding_heads import find_heads
from headstart.models.compiled import CompiledModel
from headstart.models.loading import load_model
from headstart.models.protocol import BaseModel
from headstart.models.threads import cpu_threads
from headstart.options import GenerationOptions
from headstart.request import Request
from headstart.sampling.noise import fold, fresh_seed
from headstart.text.bad_words import bad_word_ids
from headstart.text.output import TextOutput
from headstart.text.tokenizer import Tokenizer

logger = logging.getLogger("headstart")

_NODES = 8  # of a pass for a model without heads: it takes hardly longer than one over the root alone

Prompt = str | Sequence[int]
Messages = str | Sequence[Mapping[str, Any]]


def load(
    model: "str | Path | PreTrainedModel",
    *,
    heads: str | Path | None = "auto",
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
        drafter: "medusa" (a tree grown anew each step), "medusa-static" (the heads' own static tree), "ngram" (what followed
            the same ids before; needs no heads), "combined" (medusa and ngram in one tree) or "none" (plain decoding);
            "auto": combined where there are heads, else ngram. It never changes the text.
        nodes: how many tree nodes a pass may hold, the root included; None takes what pays here for the rows that are running,
            where ``headstart tune`` has measured it, else what the heads recommend; 8 without heads.
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
        if value is not None and value < 1:
            raise InvalidParameterError(f"{name} is {value}; expected at least 1")
    if compile not in (True, False, "auto"):
        raise InvalidParameterError(f"compile is {compile!r}; expected True, False or 'auto'")
    with cpu_threads(threads):  # what is tried at load holds for the number of threads that will decode
        base, hf_tokenizer = load_model(
            model,
            dtype=dtype,
            device=device,
            max_context=max_context,
            max_rows=max_rows,
            cache_tokens=cache_tokens,
            bitwise=bitwise,
            weights=weights,
            compile=compile,
        )
    found = find_heads(model, heads)
    if found is None and heads == "auto" and drafter == "auto":
        logger.warning(
            "no heads for %s: guessing from the text alone. Train some with `headstart train`, or name them with heads=",
            base.facts.name,
        )
    tokenizer = None if hf_tokenizer is None else Tokenizer(hf_tokenizer)
    llm = LLM(base, tokenizer, heads=found, drafter=drafter, nodes=nodes, threads=threads)
    if isinstance(base, CompiledModel):
        base.warm(nodes={1, llm._engine.nodes, *(size for tree in llm._engine.budgets.values() for size in tree.sizes)})
    return llm


class LLM:
    """A loaded model. Calls from several threads are serialised step by step and decoded in one batch.

    Args:
        model: the base model.
        tokenizer: None where there is none; then prompts are lists of ids and results have no text.
        heads: a loaded heads directory, if there are heads.
    """

    def __init__(
        self,
        model: BaseModel,
        tokenizer: Tokenizer | None,
        *,
        heads: HeadsDirectory | None = None,
        drafter: str = "auto",
        nodes: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.heads = heads
        budgets: dict[str, TreeBudget] = {}
        if heads is not None:
            heads.check_base(model)
            if nodes is None:
                budgets = tuned_budgets(heads, model, threads)
        drafters = named_drafters(model, heads)
        self.drafter = chosen_drafter(drafter, drafters)
        self._engine = Engine(model, drafters, nodes=nodes or (heads.nodes if heads is not None else _NODES), budgets=budgets)
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
        single = _is_one_prompt(prompts)
        many: Sequence[Prompt] = [prompts] if single else prompts  # type: ignore[list-item, assignment]
        completions = self._run([self._ids(prompt) for prompt in many], GenerationOptions.of(options))
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
        single = _is_one_conversation(messages)
        many: Sequence[Messages] = [messages] if single else messages  # type: ignore[list-item, assignment]
        completions = self._run([self._chat_ids(conversation) for conversation in many], GenerationOptions.of(options))
        return _only(completions) if single else completions

    def stream(self, prompt: Prompt | Messages, *, chat: bool = False, **options: Any) -> Generator[Chunk, None, None]:
        """Continue one prompt and hand over each step's text at once; a list of messages (or ``chat=True``) is a conversation.

        The last chunk has the finish reason and the whole :class:`Completion`. Closing the iterator cancels the request and
        frees its row. Raises what :meth:`generate` and :meth:`chat` raise, before the first chunk.
        """
        conversation = chat or (not isinstance(prompt, str) and bool(prompt) and isinstance(prompt[0], Mapping))
        ids = self._chat_ids(prompt) if conversation else self._ids(prompt)  # type: ignore[arg-type]
        job = self._submit(ids, 0, GenerationOptions.of(options))
        chunks = self._chunks(job)
        next(chunks)  # a generator that has not begun runs no `finally` when it is closed
        return chunks

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

    def _run(self, prompts: Sequence[Sequence[int]], options: GenerationOptions) -> list[Completion]:
        """Decode all prompts together, at most ``max_rows`` of them and ``cache_tokens`` positions at once."""
        waiting = deque(enumerate(prompts))
        results: dict[int, Completion] = {}
        running: dict[int, _Job] = {}
        held = 0
        try:
            while waiting or running:
                while waiting:
                    index, ids = waiting[0]
                    need = len(ids) + (options.max_new_tokens or 0)
                    full = len(running) >= (options.max_rows or len(prompts)) or (
                        options.cache_tokens is not None and running and held + need > options.cache_tokens
                    )
                    if full:
                        break
                    waiting.popleft()
                    running[index] = self._submit(ids, index, options)
                    held += need
                for index, job in list(running.items()):
                    for chunk in self._next(job):
                        if chunk.completion is not None:
                            results[index] = chunk.completion
                            held -= len(prompts[index]) + (options.max_new_tokens or 0)
                            del running[index]
        finally:
            for job in running.values():
                self._drop(job)
        return [results[index] for index in range(len(prompts))]

    def _submit(self, ids: Sequence[int], index: int, options: GenerationOptions) -> "_Job":
        output = TextOutput(self.tokenizer, options.stop_strings, options.min_new_tokens)
        if options.stop_strings and output.matcher is None:
            raise InvalidParameterError("stop strings need a tokenizer, and this model came without one; use stop_ids")
        seed = _seed_of(options.seed, index)
        eos = frozenset() if options.ignore_eos else frozenset(self.model.facts.eos_ids) | self._end_of_turn
        drafter = chosen_drafter(options.drafter or self.drafter, self._engine.drafters)
        request = Request(
            prompt_ids=ids,
            params=replace(options.sampling, bad_words=bad_word_ids(self.tokenizer, options.bad_words or ())),
            seed=seed,
            max_new_tokens=options.max_new_tokens,
            min_new_tokens=options.min_new_tokens,
            stop_ids=eos | frozenset(options.stop_ids or ()),
            matcher=output.matcher,
            drafter=drafter,
            nodes=options.nodes,
            max_context=options.max_context,
            acceptance=options.acceptance,
            acceptance_options=options.acceptance_options,
            logprobs=options.top_logprobs if options.logprobs or options.top_logprobs else None,
        )
        with self._lock:
            number = self._engine.add(request)
            self._inbox[number] = deque()
        return _Job(number, request, output, options.threads or self._threads)

    @property
    def _end_of_turn(self) -> frozenset[int]:
        return frozenset() if self.tokenizer is None else self.tokenizer.end_of_turn_ids

    def _chunks(self, job: "_Job") -> Generator[Chunk, None, None]:
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

    def _next(self, job: "_Job") -> list[Chunk]:
        """What has come for a request; steps the engine (for everybody) until something has."""
        with self._lock:
            inbox = self._inbox[job.number]
            while not inbox:
                with cpu_threads(job.threads):
                    for event in self._engine.step():
                        if event.number in self._inbox:
                            self._inbox[event.number].append(event)
            events = list(inbox)
            inbox.clear()
            if events[-1].finish_reason is not None:
                del self._inbox[job.number]
        return [job.chunk(event) for event in events]

    def _drop(self, job: "_Job") -> None:
        with self._lock:
            self._inbox.pop(job.number, None)
            self._engine.cancel(job.number)

    def _ids(self, prompt: Prompt) -> Sequence[int]:
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise PromptError("this model came without a tokenizer; give the prompt as a list of token ids")
            if not prompt:
                raise PromptError("the prompt is empty; give at least one character")
            return self.tokenizer.encode(prompt)
        return [int(token) for token in prompt]

    def _chat_ids(self, messages: Messages) -> Sequence[int]:
        if self.tokenizer is None:
            raise ChatTemplateError("this model came without a tokenizer, so there is no chat template; use generate() with ids")
        return self.tokenizer.chat_ids(messages)


class _Job:
    """One request of ours: what the engine knows it by, and its growing text."""

    def __init__(self, number: int, request: Request, output: TextOutput, threads: int | None) -> None:
        self.number = number
        self.threads = threads
        self._request = request
        self._output = output
        self._token_ids: list[int] = []
        self._logprobs: list[TokenLogprob] | None = None if request.logprobs is None else []

    def chunk(self, event: Event) -> Chunk:
        began = time.perf_counter()
        self._token_ids += event.token_ids
        if self._logprobs is not None:
            self._logprobs += event.logprobs or ()
        last = event.finish_reason is not None
        text = self._output.push(event.token_ids, last=last, ended_by=event.ended_by)
        event.stats.seconds["other"] += time.perf_counter() - began
        return Chunk(
            text=text,
            token_ids=tuple(event.token_ids),
            logprobs=None if self._logprobs is None else tuple(event.logprobs or ()),
            finish_reason=event.finish_reason,
            completion=self._completion(event) if last else None,
        )

    def _completion(self, event: Event) -> Completion:
        assert event.finish_reason is not None
        return Completion(
            text=self._output.text,
            token_ids=tuple(self._token_ids),
            finish_reason=event.finish_reason,
            seed=self._request.seed,
            prompt_tokens=len(self._request.prompt_ids),
            stats=event.stats,
            logprobs=None if self._logprobs is None else tuple(self._logprobs),
            error=event.error,
        )


def _seed_of(seed: int | Sequence[int] | None, index: int) -> int:
    if seed is None:
        return fresh_seed()
    if isinstance(seed, int):
        return fold(seed, index)
    if index >= len(seed):
        raise InvalidParameterError(f"{len(seed)} seeds for more prompts; expected one seed per prompt, or a single one")
    return fold(seed[index], 0)


def _is_one_prompt(prompts: object) -> bool:
    return isinstance(prompts, str) or (isinstance(prompts, Sequence) and bool(prompts) and isinstance(prompts[0], int))


def _is_one_conversation(messages: object) -> bool:
    return isinstance(messages, str) or (isinstance(messages, Sequence) and bool(messages) and isinstance(messages[0], Mapping))


def _only(completions: Sequence[Completion]) -> Completion:
    (completion,) = completions
    if completion.error is not None:
        raise completion.error
    return completion
