"""One call of ``generate``: a request for each row, their new ids, and the output that transformers would give.

Shapes: B rows, T positions, padding included, V vocabulary.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList
from transformers.generation.utils import GenerateDecoderOnlyOutput

from headstart.completion import Stats
from headstart.engine.engine import Engine
from headstart.engine.event import Event
from headstart.interop.criteria import CriteriaMatcher, Together, plain_stops
from headstart.interop.row_logits import Recorder, RowLogits, split
from headstart.models.threads import cpu_threads
from headstart.request import Request
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams

logger = logging.getLogger("headstart")


@dataclass
class _Row:
    """What one row has become so far."""

    recorder: Recorder | None
    new_ids: list[int] = field(default_factory=list)
    stats: Stats = field(default_factory=Stats)


class Batch:
    """The rows of one call.

    Args:
        input_ids_BT: as given, padding on the left.
        padding: how many positions of it each row has.
        drafting: what a :class:`Request` says of drafter, nodes and acceptance.
    """

    def __init__(
        self,
        input_ids_BT: torch.Tensor,
        padding: Sequence[int],
        processors: LogitsProcessorList,
        criteria: StoppingCriteriaList,
        config: GenerationConfig,
        drafting: dict[str, Any],
    ) -> None:
        self._input_ids_BT = input_ids_BT
        self._padding = padding
        self._processors = processors
        self._criteria = criteria
        self._config = config
        self._drafting = drafting
        as_dict = bool(config.return_dict_in_generate)
        self._logits, self._scores = as_dict and bool(config.output_logits), as_dict and bool(config.output_scores)
        self._rows = [
            _Row(Recorder(logits=self._logits, scores=self._scores) if self._logits or self._scores else None) for _ in padding
        ]
        self._together = Together(len(padding))
        # where no criterion knows an end-of-text id, transformers goes on after a row's end until the last row has ended
        self._pads = any(hasattr(one, "eos_token_id") for one in criteria)

    @property
    def stats(self) -> list[Stats]:
        return [row.stats for row in self._rows]

    def run(self, engine: Engine, *, streamer: Any, threads: int | None) -> None:
        """Decode to the end. A row that fails takes the others along: ``generate`` has no output for a part of a batch."""
        room = self._input_ids_BT.shape[1]
        most = self._criteria.max_length
        limit = engine.model.facts.context_length if most is None else max(1, most - room)
        requests = self._requests(limit)
        running: dict[int, _Row] = {}
        try:
            for request, row in zip(requests, self._rows, strict=True):
                running[engine.add(request)] = row
            while running:
                with cpu_threads(threads):
                    events = engine.step()
                for event in events:
                    row = running[event.number]
                    self._take(row, event, streamer)
                    if event.finish_reason is not None:
                        del running[event.number]
                    if event.finish_reason == "length" and len(row.new_ids) < limit:
                        logger.warning(
                            "a row ended after %d new tokens, at the end of the model's context of %d; max_length allows more",
                            len(row.new_ids),
                            engine.model.facts.context_length,
                        )
        finally:
            for number in running:
                engine.cancel(number)
        if streamer is not None:
            streamer.end()

    def output(self) -> torch.Tensor | GenerateDecoderOnlyOutput:
        """What ``generate`` returns: the ids, or an object with what was asked for beside them."""
        end = None if self._pads else self._together.end
        width = max(len(row.new_ids) for row in self._rows) if end is None else end
        pad = getattr(self._config, "_pad_token_tensor", None)
        new_BT = torch.full((len(self._rows), width), 0 if pad is None else int(pad), dtype=torch.int64)
        for b, row in enumerate(self._rows):
            ids = row.new_ids[:width]
            new_BT[b, : len(ids)] = torch.tensor(ids)
        sequences = torch.cat([self._input_ids_BT, new_BT.to(self._input_ids_BT.device)], dim=-1)
        if not self._config.return_dict_in_generate:
            return sequences
        recorders = [row.recorder for row in self._rows if row.recorder is not None]
        beside: dict[str, Any] = {}
        if self._scores:
            beside["scores"] = _by_place([one.scores for one in recorders], width, sequences.device)
        if self._logits:
            beside["logits"] = _by_place([one.logits for one in recorders], width, sequences.device)
        untyped: Any = sequences  # the class asks for a legacy tensor type
        return GenerateDecoderOnlyOutput(sequences=untyped, **beside)

    def _requests(self, limit: int) -> list[Request]:
        sampled = bool(self._config.do_sample)
        needed, choice = split(self._processors) if sampled else (self._processors, {})
        # torch's own generator, so that torch.manual_seed repeats the text; greedy decoding leaves it alone, as plain generate does
        seed = int(torch.randint(1 << 62, ())) if sampled else 0
        stop_ids = plain_stops(self._criteria)
        requests = []
        for b, row in enumerate(self._rows):
            ids_T, pad = self._input_ids_BT[b], self._padding[b]
            prompt = ids_T[pad:].tolist()
            processor = RowLogits(
                needed,
                self._processors,
                ids_T[:pad],
                prompt_length=len(prompt),
                row=b,
                rows=len(self._rows),
                recorder=row.recorder,
            )
            matcher = CriteriaMatcher(self._criteria, ids_T, b, self._together, pads=self._pads, scores=self._scores_of(row))
            requests.append(
                Request(
                    prompt_ids=prompt,
                    params=SamplingParams(
                        temperature=choice.get("temperature", 1.0) if sampled else 0.0,
                        logits_processors=(processor,) if needed or row.recorder is not None else (),
                        **{name: value for name, value in choice.items() if name != "temperature"},
                    ),
                    seed=fold(seed, b),
                    max_new_tokens=limit,
                    stop_ids=stop_ids or frozenset(),
                    matcher=matcher if stop_ids is None else None,
                    **self._drafting,
                )
            )
        return requests

    def _scores_of(self, row: _Row) -> Any:
        def scores(new_ids: Sequence[int]) -> tuple[torch.Tensor, ...] | None:
            if row.recorder is None or not self._scores:
                return None
            return tuple(scores_V.expand(len(self._rows), -1) for scores_V in row.recorder.scores_for(new_ids))

        return scores

    def _take(self, row: _Row, event: Event, streamer: Any) -> None:
        if event.error is not None:
            raise event.error
        row.new_ids += event.token_ids
        row.stats = event.stats
        if row.recorder is not None:
            row.recorder.emit(row.new_ids, len(event.token_ids))
        if streamer is not None:
            for token in event.token_ids:
                streamer.put(torch.tensor([token]))


def _by_place(rows: Iterable[Sequence[torch.Tensor]], width: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """B x V for each place; zeros for a row that has ended."""
    many = list(rows)
    nothing_V = torch.zeros_like(next(row[0] for row in many if row))
    return tuple(torch.stack([row[t] if t < len(row) else nothing_V for row in many]).to(device) for t in range(width))
