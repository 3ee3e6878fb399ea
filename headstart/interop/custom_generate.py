"""The hook for people who stay with transformers: ``model.generate(**inputs, custom_generate=headstart.custom_generate())``."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation.utils import GenerateDecoderOnlyOutput

from headstart.acceptance.rules import rule_of
from headstart.completion import Stats
from headstart.drafters.draft_options import DraftOptions
from headstart.drafters.named import chosen_drafter
from headstart.errors import InvalidParameterError
from headstart.interop.batch import Batch
from headstart.interop.kept import kept
from headstart.interop.lost_arguments import hand_back
from headstart.interop.padding import check_positions, padding_lengths
from headstart.interop.refusals import refuse
from headstart.llm import LLM, load
from headstart.sampling.kinds import check_whole


def custom_generate(
    drafter: str = "auto",
    *,
    heads: str | Path | None = "auto",
    draft_model: "str | Path | PreTrainedModel | DraftOptions | None" = None,
    nodes: int | None = None,
    acceptance: str = "exact",
    acceptance_options: Mapping[str, float] | None = None,
    draft_temperature: float | None = None,
    threads: int | None = None,
    max_context: int | None = None,
    max_rows: int | None = None,
    cache_tokens: int | None = None,
) -> "CustomGenerate":
    """What ``generate`` of a transformers model takes as ``custom_generate``: the same arguments, the same output, sooner.

    Greedy output is that of plain ``generate``, token for token. Sampling (``do_sample=True``) has the same distribution and is
    repeated by ``torch.manual_seed``, but draws other numbers than plain ``generate`` does.

    What is needed of a model (heads, cache) is made at its first call and kept with the model, so that this function can be called
    anew each time. The arguments are those of :func:`headstart.load` and, from ``acceptance`` (its parameters by name in
    ``acceptance_options``) to ``draft_temperature``, those of ``LLM.generate``: any rule but "exact" is lossy or depends on the
    drafter.

    Raises:
        InvalidParameterError: there is no such rule of acceptance, or a number is out of range.
    """
    rule_of(acceptance, acceptance_options or {})
    if nodes is not None:
        check_whole("nodes", nodes)
        if nodes < 1:
            raise InvalidParameterError(f"nodes is {nodes}; expected at least 1, the root (1 is plain decoding)")
    options: dict[str, Any] = {"heads": heads, "draft_model": draft_model, "threads": threads}
    options |= {"max_context": max_context, "max_rows": max_rows, "cache_tokens": cache_tokens}
    request: dict[str, Any] = {"nodes": nodes, "acceptance": acceptance, "draft_temperature": draft_temperature}
    request["acceptance_options"] = dict(acceptance_options or {})
    return CustomGenerate(drafter, options, request)


class CustomGenerate:
    """Made by :func:`custom_generate`; called by transformers, never by people."""

    def __init__(self, drafter: str, options: Mapping[str, Any], request: Mapping[str, Any]) -> None:
        self._drafter = drafter
        self._options = dict(options)
        self._request = dict(request)
        self.stats: list[Stats] = []
        """How each row of the last call was decoded."""

    @property
    def __signature__(self) -> inspect.Signature:
        hand_back(self)
        return inspect.signature(type(self).__call__)

    @torch.no_grad()
    def __call__(
        self,
        model: PreTrainedModel,
        input_ids: torch.Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        tokenizer: Any = None,
        lost: Mapping[str, Any] | None = None,
        streamer: Any = None,
        **model_kwargs: Any,
    ) -> torch.Tensor | GenerateDecoderOnlyOutput:
        """Continue each row of ``input_ids`` (B x T, padding on the left).

        ``logits_processor`` and ``stopping_criteria`` are transformers' own, made from all settings. ``lost`` is what it does not
        pass on (see ``lost_arguments.py``); ``tokenizer`` is in the criteria already, and here because it is passed.

        Raises:
            InvalidParameterError: an argument of ``generate`` that is not for this.
            UnsupportedModelError, HeadsError, PromptError, CapacityError: as :func:`headstart.load` and ``LLM.generate`` do.
        """
        lost = lost or {}
        refuse(model, generation_config, logits_processor, lost, model_kwargs)
        streamer = lost.get("streamer") if streamer is None else streamer
        if streamer is not None and input_ids.shape[0] > 1:
            raise InvalidParameterError(f"a streamer takes one text, and this batch has {input_ids.shape[0]} rows; leave it out")
        padding = padding_lengths(input_ids, model_kwargs.get("attention_mask"))
        check_positions(model_kwargs.get("position_ids"), padding)
        options = tuple(self._options.items())
        with kept(model).lent(model, options, lambda: self._load(model)) as llm:
            drafting = {**self._request, "drafter": chosen_drafter(self._drafter, llm.engine.drafters)}
            batch = Batch(input_ids, padding, logits_processor, stopping_criteria, generation_config, drafting)
            batch.run(llm.engine, streamer=streamer, threads=self._options["threads"])
        self.stats = batch.stats
        return batch.output()

    def _load(self, model: PreTrainedModel) -> LLM:
        return load(model, drafter=self._drafter, **self._options)
