"""A batch decoded by transformers' own ``generate``, prefill and decoding timed apart.

Shapes: B rows, T positions.
"""

import time
from collections.abc import Sequence

import torch
from transformers import GenerationConfig, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from headstart.bench.run import Run, Text
from headstart.text.tokenizer import Tokenizer

LOOKUP_TOKENS = 10
"""Guesses of a step of prompt lookup: what transformers' documentation uses."""


class TransformersWay:
    """Plain ``generate``, or with prompt lookup.

    Args:
        model: in the precision of the other contestants. Its generation config is replaced: ``generate`` takes from it whatever the
            one that it is given leaves open.
        stop_ids: the ids that end a text for the others as well.
        lookup: look guesses up in the prompt and the text so far.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: Tokenizer | None, *, stop_ids: frozenset[int], lookup: bool) -> None:
        self._model, self._tokenizer, self._stop_ids, self._lookup = model, tokenizer, stop_ids, lookup
        self._model.generation_config = GenerationConfig()

    def decode(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int, temperature: float, seeds: Sequence[int]) -> Run:
        """Above temperature 0 the draws follow torch's global generator, seeded here by the first of ``seeds``."""
        began = time.perf_counter()
        width = max(map(len, prompts))
        ids_BT = torch.zeros(len(prompts), width, dtype=torch.int64)
        mask_BT = torch.zeros_like(ids_BT)
        for b, ids in enumerate(prompts):
            ids_BT[b, width - len(ids) :] = torch.tensor(list(ids))
            mask_BT[b, width - len(ids) :] = 1
        stream = _Arrivals()
        torch.manual_seed(seeds[0] % (1 << 63))
        with torch.inference_mode():
            out_BT = self._model.generate(  # type: ignore[operator]  # transformers' own annotation of a mixin's method
                ids_BT.to(self._model.device),
                attention_mask=mask_BT.to(self._model.device),
                generation_config=self._config(max_new_tokens, temperature),
                streamer=stream,
            )
        answers = [self._cut(row[width:]) for row in out_BT.tolist()]
        if self._tokenizer is not None:
            for answer in answers:
                self._tokenizer.decode(answer)
        seconds = time.perf_counter() - began
        times = [at - began for at in stream.times]
        texts = [self._text(answer, len(ids), times, stream.counts) for answer, ids in zip(answers, prompts, strict=True)]
        gaps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
        return Run(texts=texts, seconds=seconds, prefill=times[0], gaps=gaps, passes=len(gaps))

    def _config(self, max_new_tokens: int, temperature: float) -> GenerationConfig:
        """The rule of all contestants, and nothing else."""
        sampling = (
            {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {"do_sample": False}
        )
        return GenerationConfig(
            max_new_tokens=max_new_tokens,
            eos_token_id=sorted(self._stop_ids) or None,
            pad_token_id=min(self._stop_ids, default=0),
            prompt_lookup_num_tokens=LOOKUP_TOKENS if self._lookup else None,
            **sampling,
        )

    def _cut(self, ids: list[int]) -> list[int]:
        """Up to the first id that ends the text: what follows is padding."""
        end = next((i for i, token in enumerate(ids) if token in self._stop_ids), len(ids) - 1)
        return ids[: end + 1]

    def _text(self, ids: list[int], prompt_tokens: int, times: list[float], counts: list[int]) -> Text:
        if len(counts) > 1 and self._lookup:
            accepted = [count - 1 for count in counts[1:]]
            depths = [sum(n > d for n in accepted) for d in range(max(accepted))]
            return Text(
                ids=ids, prompt_tokens=prompt_tokens, first=times[0], last=times[-1], steps=len(accepted), accepted_per_depth=depths
            )
        ended = min(len(ids), len(times)) - 1
        return Text(ids=ids, prompt_tokens=prompt_tokens, first=times[0], last=times[ended], steps=len(ids) - 1)


class _Arrivals(BaseStreamer):
    """When tokens came, and how many of a row's at once."""

    def __init__(self) -> None:
        self._prompt_seen = False
        self.times: list[float] = []
        self.counts: list[int] = []

    def put(self, value: torch.Tensor) -> None:
        if not self._prompt_seen:  # the first call hands over the prompt
            self._prompt_seen = True
            return
        self.times.append(time.perf_counter())
        self.counts.append(value.shape[-1] if value.dim() > 1 else 1)

    def end(self) -> None:
        pass
