"""The accelerated model for EleutherAI's evaluation harness (``pip install lm-eval``).

    python -m headstart.interop.lm_eval run --model headstart --model_args pretrained=bundled,nodes=6 --tasks gsm8k --limit 20

or ``lm_eval.simple_evaluate(model=HeadstartLM("bundled"), tasks=["gsm8k"])``. Answers that are written (``generate_until``) come
out of the drafting loop, with the text of plain decoding; likelihoods are single passes of the base model. Importing this module
makes the name ``headstart`` known to the harness.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from transformers import PreTrainedModel

from headstart.completion import Stats
from headstart.engine.likelihood import Pair, continuation_logprobs
from headstart.errors import HeadstartError, InvalidParameterError
from headstart.llm import LLM, load
from headstart.sampling.noise import fold

try:
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model
except ImportError as error:
    raise HeadstartError(f"the evaluation harness is not there ({error}); install it: pip install lm-eval") from error

_LENGTH_NAMES = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""What tasks call the number of new tokens; the first one given counts."""
_SCORED_AT_ONCE = 64
_HARNESS_DEVICE = "cuda:0"
"""What the harness's command line asks for where its user does not; its own models take the CPU then if there is no CUDA."""


@register_model("headstart")
class HeadstartLM(LM):  # type: ignore[misc]  # the harness is no dependency, so its classes have no types here
    """A model of the harness.

    Args:
        pretrained: what :func:`headstart.load` takes, or a loaded :class:`headstart.LLM`.
        batch_size: how many answers are written at once; "auto" is 8.
        max_gen_toks: new tokens where a task does not say how many.
        drafter, nodes: as in :func:`headstart.load`.
        seed: of the noise, for tasks that sample.
        options: further arguments of :func:`headstart.load`: heads, dtype, threads, ...

    Raises:
        InvalidParameterError: the model has no tokenizer, or a task's ``generation_kwargs`` hold what Headstart does not know.
        And what :func:`headstart.load` raises.
    """

    def __init__(
        self,
        pretrained: "str | Path | PreTrainedModel | LLM" = "bundled",
        *,
        batch_size: int | str = 8,
        max_batch_size: int | None = None,
        max_gen_toks: int = 256,
        seed: int = 0,
        device: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if isinstance(pretrained, LLM) and (options or device is not None):
            raise InvalidParameterError(f"{sorted(options) or 'device'} come too late for a loaded LLM; give them to load()")
        if device is not None and (device != _HARNESS_DEVICE or torch.cuda.is_available()):
            options["device"] = device
        self.llm = pretrained if isinstance(pretrained, LLM) else load(pretrained, **options)
        if self.llm.tokenizer is None:
            raise InvalidParameterError("the model came without a tokenizer, and the harness asks in text; load one that has it")
        self._tokenizer = self.llm.tokenizer
        asked = 8 if batch_size == "auto" else int(batch_size)
        self.batch_size = asked if max_batch_size is None else min(asked, int(max_batch_size))
        if self.batch_size < 1:
            raise InvalidParameterError(f"batch_size is {batch_size}; expected at least 1, or 'auto'")
        self.max_gen_toks = max_gen_toks
        self._seed = seed
        self.stats: list[Stats] = []
        """How each answer was written, in the order in which they were."""

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self._tokenizer.hf

    @property
    def tokenizer_name(self) -> str:
        return str(self.tokenizer.name_or_path).replace("/", "__")

    @property
    def max_length(self) -> int:
        """Tokens of the model's context."""
        return self.llm.model.facts.context_length

    @property
    def prefix_token_id(self) -> int:
        """What stands before a text that has nothing before it: the BOS, else an id that ends texts.

        Raises:
            InvalidParameterError: the model has neither.
        """
        ids = [self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, *self.llm.model.facts.eos_ids]
        known = [int(token) for token in ids if token is not None]
        if not known:
            raise InvalidParameterError("the model has neither BOS nor EOS, so a text without a context cannot be scored")
        return known[0]

    @property
    def tokens_per_step(self) -> float:
        """Over all answers so far: (emitted - 1) / verify passes. Plain decoding is exactly 1; NaN without a step."""
        steps = sum(stats.steps for stats in self.stats)
        return sum(stats.emitted_tokens - 1 for stats in self.stats) / steps if steps else float("nan")

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """The template that :meth:`apply_chat_template` uses, for the harness's records."""
        template = self.tokenizer.chat_template
        return template if isinstance(template, str) else None

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The conversation as the model's chat template writes it; without the prompt for an answer its last message goes on."""
        text: str = self.tokenizer.apply_chat_template(
            chat_history,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=not add_generation_prompt,
        )
        return text

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Each request's ``args`` are a context and a task's ``generation_kwargs``."""
        answers = [""] * len(requests)
        alike: dict[str, list[int]] = {}
        for i, request in enumerate(requests):
            alike.setdefault(json.dumps(request.args[1], sort_keys=True, default=str), []).append(i)
        with Progress(console=Console(stderr=True), disable=disable_tqdm) as progress:
            task = progress.add_task("Headstart generates", total=len(requests))
            for members in alike.values():
                options = self._generation_options(requests[members[0]].args[1])
                for batch in _slices(members, self.batch_size):
                    prompts = [self._prompt_ids(requests[i].args[0], options["max_new_tokens"]) for i in batch]
                    written = self.llm.generate(prompts, seed=[fold(self._seed, i) for i in batch], **options)
                    for i, completion in zip(batch, written, strict=True):
                        if completion.error is not None:
                            raise completion.error
                        answers[i] = completion.text
                        self.stats.append(completion.stats)
                        self.cache_hook.add_partial("generate_until", requests[i].args, completion.text)
                    progress.update(task, advance=len(batch))
        return answers

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Each request's ``args`` are a context and a continuation: its log-probability, and whether greedy decoding writes it."""
        scored = self._scored([self._pair(*request.args) for request in requests], disable_tqdm)
        for request, result in zip(requests, scored, strict=True):
            self.cache_hook.add_partial("loglikelihood", request.args, result)
        return scored

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
        """Each request's ``args`` are a text: its log-probability, in windows of the context's length where it is longer."""
        windows = [list(self._windows(request.args[0])) for request in requests]
        scored = iter(self._scored([pair for pairs in windows for pair in pairs], disable_tqdm))
        totals = [sum(next(scored)[0] for _ in pairs) for pairs in windows]
        for request, total in zip(requests, totals, strict=True):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, total)
        return totals

    def _scored(self, pairs: Sequence[Pair], disable_tqdm: bool) -> list[tuple[float, bool]]:
        results: list[tuple[float, bool]] = []
        with Progress(console=Console(stderr=True), disable=disable_tqdm) as progress:
            task = progress.add_task("Headstart scores", total=len(pairs))
            for part in _slices(pairs, _SCORED_AT_ONCE):
                for tokens in continuation_logprobs(self.llm.model, part):
                    greedy = all(one.top[0][0] == one.token_id for one in tokens)
                    results.append((sum(one.logprob for one in tokens), greedy))
                progress.update(task, advance=len(part))
        return results

    def _encode(self, text: str) -> list[int]:
        """A text that begins with a BOS, as chat templates write it, gets no second one."""
        bos = self.tokenizer.bos_token
        return self._tokenizer.encode(text, add_special_tokens=bos is None or not text.startswith(bos))

    def _pair(self, context: str, continuation: str) -> Pair:
        """Ids of both, cut where the context's own ids end. Spaces at the context's end belong to the continuation's first word."""
        words, text = context.rstrip(), context + continuation
        if not words:
            ids, prefix = self._tokenizer.encode(text, add_special_tokens=False), self.prefix_token_id
            return (ids[:1], ids[1:]) if ids[:1] == [prefix] else ([prefix], ids)
        before, whole = self._encode(words), self._encode(text)
        if not continuation or len(before) < len(whole):
            return before, whole[len(before) :]
        # the context's last id and the continuation have become one: that one is what there is to choose
        return whole[:-1] or [self.prefix_token_id], whole[-1:]

    def _windows(self, text: str) -> Iterator[Pair]:
        """Each id once, with the most that the context holds before the last ones."""
        ids = self._encode(text)
        with_prefix = [self.prefix_token_id, *ids]
        for start in range(0, len(ids), self.max_length):
            end = min(start + self.max_length, len(ids))
            yield with_prefix[max(0, end - self.max_length) : start + 1], ids[start:end]

    def _prompt_ids(self, context: str, max_new_tokens: int) -> list[int]:
        """The end of the context that leaves room for the answer."""
        room = self.max_length - max_new_tokens
        if room < 1:
            raise InvalidParameterError(
                f"{max_new_tokens} new tokens are asked for, and the model's context has {self.max_length}: a question has no room;"
                " give the task a smaller max_gen_toks"
            )
        return self._encode(context)[-room:] or [self.prefix_token_id]

    def _generation_options(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A task's ``generation_kwargs`` as options of ``LLM.generate``, which knows what it does not know."""
        options = {name: value for name, value in asked.items() if value is not None}
        lengths = [options.pop(name) for name in _LENGTH_NAMES if name in options]
        options["max_new_tokens"] = int(lengths[0]) if lengths else self.max_gen_toks
        until = options.pop("until", [])
        until = [until] if isinstance(until, str) else list(until)
        options["stop"] = [string for string in until if string]
        added = self.tokenizer.get_added_vocab()  # texts leave the special ones among them out
        options["stop_ids"] = [added[string] for string in until if string in added]
        sampled = options.pop("do_sample", float(options.get("temperature", 0.0)) > 0)
        options["temperature"] = float(options.get("temperature", 1.0)) if sampled else 0.0
        if options.get("top_k") == 0:  # transformers' way to say all
            del options["top_k"]
        if options.get("num_beams") == 1:
            del options["num_beams"]
        return options


def _slices(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
