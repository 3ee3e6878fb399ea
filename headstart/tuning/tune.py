"""Trees and budgets that fit a machine: observe, measure, choose, and check the prediction.

Half of the prompts is learned from, the other half is decoded to compare what was predicted with what is measured.
"""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from headstart.drafters.arrangement import Arrangement, GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.tree_file import TreeFile
from headstart.drafters.tuned import KEY, Tuned, heads_mark
from headstart.errors import DataError, HeadsError
from headstart.models.compiled import CompiledModel
from headstart.models.protocol import BaseModel
from headstart.sampling.params import SamplingParams
from headstart.trees.step_table import StepTable
from headstart.tuning.choice import step_table
from headstart.tuning.latency import CONTEXT, LatencyCurve, Point, measure_latency
from headstart.tuning.learned import Learned, learn
from headstart.tuning.observe import Observations, observe
from headstart.tuning.step_times import measure_steps, room_for_steps
from headstart.tuning.tune_options import SIZES, TuneOptions
from headstart.tuning.tune_result import GROWN, STATIC, TuneResult
from headstart.tuning.verification import verify
from headstart.tuning.warm_pass import likely_shape

_UNOBSERVED = {
    "hydra": "each reads the guesses before its own",
    "mtp": "they read the states before the last layer, of the whole text",
}
"""By kind of heads: why they are none that guess all at once from the last hidden state."""
_LONG_CONTEXT = 500
_COUNTS_KEPT = 512
_LEAST_TEXT = 32  # tokens: shorter ones hardly ever make a full batch
_SURE = 0.05  # a half-width of the confidence interval above this share is said
_CALM = 0.2  # so is a distance of quartiles above this share


class Tuning:
    """One run: :meth:`choose`, then :meth:`check`. The model's cache must be idle, and torch set to the threads to tune for.

    Args:
        heads: as they lie on disk; their weights are moved to the model.
        prompts: ids of each prompt.
        stop_ids: ids that end a text.
        source: what the prompts are called in the file.
        say: told what is being done.

    Raises:
        HeadsError: heads of another model, or of another kind than medusa's.
        DataError: fewer than two prompts that leave room for an answer.
    """

    def __init__(
        self,
        model: BaseModel,
        heads: HeadsDirectory,
        prompts: Sequence[Sequence[int]],
        *,
        options: TuneOptions,
        stop_ids: frozenset[int] = frozenset(),
        source: str = "",
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        heads.check_base(model)
        if (why := _UNOBSERVED.get(heads.config.kind)) is not None:
            raise HeadsError(
                f"{heads.config.kind} heads are not tuned yet: {why}, and only medusa's, which guess all at once from the last"
                " hidden state, are observed. Set the size of trees with nodes="
            )
        self._model, self._heads, self._options = model, heads, options
        self._stop_ids, self._source, self._say = stop_ids, source, say
        self._mark = heads_mark(heads.heads)  # before they are moved to another precision
        self._guesses = HeadGuesses(heads.heads, model)
        self._learn_from, self._check_on = self._halves(prompts)
        self._params = SamplingParams(temperature=options.temperature)

    def choose(self) -> TuneResult:
        """Observe, measure, choose.

        Raises:
            DataError: too few prompts, or answers too short to learn from.
            InvalidParameterError: a batch size that the model has no room for.
        """
        options, model = self._options, self._model
        sizes = self._sizes()
        room_for_steps(model, self._learn_from, rows=max(options.batch), nodes=max(sizes))  # now, not after minutes of observing
        self._say(f"observing the heads on {len(self._learn_from)} prompts")
        seen = observe(
            model,
            self._guesses,
            self._learn_from,
            tokens=options.tokens,
            stop_ids=self._stop_ids,
            params=self._params,
            seed=options.seed,
        )
        learned = learn(seen, sizes)
        self._say("measuring passes")
        curve = self._curve(sizes)
        drafter = self._drafter(GROWN, learned)
        rounds, seconds = (7, 8.0) if options.quick else (25, 40.0)
        steps: list[Point] = []
        for rows in sorted(set(options.batch)):
            self._say(f"measuring steps, {rows} at once")
            steps += measure_steps(
                model,
                drafter,
                self._learn_from,
                sizes=sizes,
                rows=rows,
                params=self._params,
                tokens=max(options.tokens, _LEAST_TEXT),
                rounds=rounds,
                seconds=seconds,
            )
        table = step_table(learned.grown, steps)
        tuned = Tuned(
            heads=self._mark,
            conditions=curve.conditions,
            tables={GROWN: table, STATIC: step_table(learned.static, steps)},
            passes=[asdict(point) for point in curve.points],
            observed=self._observed(seen, learned),
        )
        return TuneResult(
            tree_file=self._tree_file(learned, tuned),
            tuned=tuned,
            learned=learned,
            curve=curve,
            notes=tuple(self._notes(learned, table, steps)),
        )

    def check(self, result: TuneResult) -> TuneResult:
        """Decode the other half of the prompts with what was chosen and plainly, in turn."""
        options, table = self._options, result.table
        drafter = self._drafter(GROWN, result.learned)
        verified, notes = [], list(result.notes)
        for rows in table.rows_R:
            size = table.best(rows)
            batches = (1 if options.quick else 3) if rows > 1 else (6 if options.quick else 32)
            prompts = self._check_on[: rows * batches]
            if size == 0:
                continue
            if len(prompts) < rows:
                notes.append(f"not verified for {rows} texts at once: only {len(prompts)} prompts were kept back for it")
                continue
            self._say(f"verifying trees of {table.nodes_N[size]} nodes, {rows} at once")
            found = verify(
                self._model,
                drafter,
                prompts,
                rows=rows,
                nodes=table.nodes_N[size],
                tokens=options.tokens,
                stop_ids=self._stop_ids,
                params=self._params,
                seed=options.seed,
                predicted_tokens=table.tokens_N[size],
                predicted_speedup=table.speedup(rows, size),
            )
            if found is None:
                notes.append(f"not verified for {rows} texts at once: in every batch a text ended before all of them had begun")
            else:
                verified.append(found)
        return replace(result.with_verified(verified), notes=tuple(notes))

    def _halves(self, prompts: Sequence[Sequence[int]]) -> tuple[list[Sequence[int]], list[Sequence[int]]]:
        """Prompts to learn from and prompts to check on; those without room for an answer are left out."""
        room = self._model.facts.context_length - self._options.tokens
        fitting = [ids for ids in prompts if 0 < len(ids) <= room]
        if len(fitting) < 2:
            raise DataError(
                f"{len(prompts)} prompts, of which {len(fitting)} leave room for {self._options.tokens} tokens in a context of"
                f" {self._model.facts.context_length}; expected at least 2. Give more or shorter prompts, or fewer tokens"
            )
        random.Random(self._options.seed).shuffle(fitting)
        if self._options.quick:
            fitting = fitting[:32]
        middle = (len(fitting) + 1) // 2
        return fitting[:middle], fitting[middle:]

    def _sizes(self) -> list[int]:
        most = self._options.max_nodes
        sizes = {size for size in SIZES if size <= most} | {most}
        if self._options.quick or isinstance(self._model, CompiledModel):  # which fills every tree up to a power of two
            sizes = {size for size in sizes if size & (size - 1) == 0}
        return sorted(sizes)

    def _curve(self, sizes: Sequence[int]) -> LatencyCurve:
        facts, rows = self._model.facts, sorted(set(self._options.batch))
        nodes = [size for size in sizes if size & (size - 1) == 0]
        room = facts.context_length - likely_shape(max(nodes)).depth - 1
        contexts = {max(1, min(CONTEXT, room))}
        if not self._options.quick and room > _LONG_CONTEXT and self._model.cache.fits(max(rows), _LONG_CONTEXT + max(nodes)):
            contexts.add(_LONG_CONTEXT)
        return measure_latency(
            self._model, nodes=nodes, rows=rows, contexts=sorted(contexts), rounds=5 if self._options.quick else 15
        )

    def _drafter(self, name: str, learned: Learned) -> MedusaDrafter:
        config = self._heads.config
        arrangement: Arrangement = StaticTree(learned.tree)
        if name == GROWN:
            arrangement = GrownTree(config.num_heads, config.projected_vocab, learned.calibration)
        return MedusaDrafter(self._guesses, arrangement, name=name)

    def _observed(self, seen: Observations, learned: Learned) -> dict[str, Any]:
        return {
            "prompts": self._source,
            "texts": len(seen.lengths),
            "positions": learned.total,
            "temperature": self._options.temperature,
            "seed": self._options.seed,
            "standard_error": [
                learned.error[size] if learned.error[size] == learned.error[size] else None for size in learned.grown
            ],
        }

    def _tree_file(self, learned: Learned, tuned: Tuned) -> TreeFile:
        table = tuned.table(GROWN)
        size = table.best(table.rows_R[0])
        # where plain decoding is fastest here, other machines are none the wiser: they keep what the heads recommended
        nodes = table.nodes_N[size] if size else self._heads.nodes
        return TreeFile(
            tree=learned.tree,
            nodes=min(nodes, len(learned.tree)),
            counts=dict(sorted(learned.counts.items(), key=lambda item: (-item[1], item[0]))[:_COUNTS_KEPT]),
            total=learned.total,
            calibration=learned.calibration,
            predicted={**self._heads.predicted, KEY: tuned.to_dict()},
        )

    def _notes(self, learned: Learned, table: StepTable, steps: Sequence[Point]) -> list[str]:
        notes = []
        spread = statistics.median((point.q3 - point.q1) / point.median for point in steps)
        if spread > _CALM:
            notes.append(
                f"times spread by {spread:.0%} between quartiles: something else was running, and the choice may be wrong. Tune"
                " again on an idle machine"
            )
        size = max(1, table.best(table.rows_R[0]))
        nodes, tokens = table.nodes_N[size], table.tokens_N[size]
        half = 1.96 * learned.error[nodes]
        if not half <= _SURE * tokens:
            width = f"{tokens:.2f} +- {half:.2f} (95 %)" if half == half else f"{tokens:.2f}, from one text"
            notes.append(f"few texts: tokens per step at {nodes} nodes are {width}. More or longer prompts make it surer")
        never = [str(rows) for rows in table.rows_R if table.best(rows) == 0]
        if never:
            notes.append(f"plain decoding is fastest with {', '.join(never)} text(s) at once: no tree gains on it by 3 %")
        return notes
