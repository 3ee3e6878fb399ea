"""What a run of heads will do, decided before any of it is done."""

import shutil
from dataclasses import replace
from pathlib import Path

from headstart.drafters.heads import HeadsConfig
from headstart.models.dtype import dtype_name, training_dtype
from headstart.models.protocol import BaseModel
from headstart.train.digest import digest_of_answers
from headstart.train.held_out import check_enough
from headstart.train.options import DEFAULT_TOKENS, TrainOptions
from headstart.train.plan import SHARD_SIZE, Plan, check_same_run, plan_for_time, read_plan
from headstart.train.progress import Reporter
from headstart.train.recorded import Recorded, check_given, enough
from headstart.train.run_directory import RUN_FILE, check_no_run, make_output
from headstart.train.sources import Opened
from headstart.train.speed import training_rate
from headstart.train.state_cache import COMPUTED, cache_size, choose_cache

_RATE_SHARE = 0.03  # of the minutes, for measuring how fast answers are written


def decided(model: BaseModel, opened: Opened, run: Path, options: TrainOptions, reporter: Reporter, *, processes: int = 1) -> Plan:
    """The plan of the run in the directory ``run``: read again if it is resumed, else made now, said, and written down. Each of
    ``processes`` takes its part of a step.

    Raises:
        TrainingError: there is a run already, there is none to resume or it was started with something else, the disk is too small
            for the states, or the directory cannot be written to.
        HeadsError: there are no heads of such a shape.
    """
    path, source = run / RUN_FILE, opened.source
    identity, dtype = identity_of(model, options), dtype_name(model.facts.dtype)
    heads_config(model, options)  # refuses shapes that cannot be, before hours go into data
    if options.resume:
        plan = read_plan(path)
        check_same_run(plan, model.facts.name, identity, run, cache=options.cache, dtype=dtype)
        if isinstance(source, Recorded):
            check_given(enough(source.shards, plan.tokens), plan, run)
        return plan
    check_no_run(run)
    if source.total is not None:
        check_enough(source.total, "to train on", "Give more data")
    make_output(run)
    compute = dtype_name(training_dtype(model.facts.device))
    if isinstance(source, Recorded):
        tokens = source.tokens if options.tokens is None else options.tokens
        given = digest_of_answers(enough(source.shards, tokens))
        plan = Plan(
            model.facts.name, identity, source.shard_size, tokens, None, options.epochs, source.cache, given, compute, dtype
        )
        plan.save(path)
        for line in source.lines(options.tokens):
            reporter.say(line)
        return plan
    if options.minutes is None:
        everything = options.tokens or (DEFAULT_TOKENS if source.total is None else 1 << 62)
        longest = max(1, everything // options.max_new_tokens)
        plan = Plan(model.facts.name, identity, max(16, min(SHARD_SIZE, longest)), everything, None, options.epochs)
    else:
        seconds = options.minutes * 60
        reporter.say("measuring how fast this machine writes and trains")
        rate = source.rate(min(30.0, max(2.0, seconds * _RATE_SHARE)))
        plan = _plan_for_time(model, identity, options, rate, computed=options.cache == "none", processes=processes)
    tokens = plan.tokens + plan.shard_size * options.max_new_tokens  # the last shard is written whole
    size = cache_size(model, tokens if opened.expected_tokens is None else min(tokens, opened.expected_tokens))
    free = shutil.disk_usage(run).free
    cache = choose_cache(options.cache, size, free, run)
    if options.cache == "auto" and cache == "none" and options.minutes is not None:
        plan = _plan_for_time(model, identity, options, rate, computed=True, processes=processes)
    reporter.say(size.line(free, run))
    if cache == "none":
        reporter.say(COMPUTED)
    if options.minutes is not None:
        reporter.say(f"plan for {options.minutes:g} minutes: {plan.tokens:,} answer tokens, {plan.steps:,} steps")
    plan = replace(plan, cache=cache, compute=compute, dtype=dtype)
    plan.save(path)
    return plan


def identity_of(model: BaseModel, options: TrainOptions) -> dict[str, object]:
    """What has to stay the same when a run is resumed; with other weights the states are others."""
    return options.identity if model.facts.weights is None else {**options.identity, "weights": model.facts.weights}


def _plan_for_time(
    model: BaseModel,
    identity: dict[str, object],
    options: TrainOptions,
    tokens_per_second: float,
    *,
    computed: bool,
    processes: int,
) -> Plan:
    assert options.minutes is not None
    longest = min(options.max_new_tokens, model.facts.context_length) if computed else 0
    mine = max(2, -(-options.batch // processes))
    return plan_for_time(
        model=model.facts.name,
        options=identity,
        seconds=options.minutes * 60,
        tokens_per_second=tokens_per_second,
        steps_per_second=training_rate(model, heads_config(model, options), mine, options.soft_targets, computed=longest),
        batch=options.batch,
        epochs=options.epochs,
    )


def heads_config(model: BaseModel, options: TrainOptions) -> HeadsConfig:
    """Raises HeadsError where there are no heads of such a shape."""
    facts = model.facts
    smaller = 0 < options.draft_vocab_size < facts.vocab_size
    return HeadsConfig(
        hidden_size=facts.hidden_size,
        vocab_size=facts.vocab_size,
        kind=options.kind,
        num_heads=options.num_heads,
        num_layers=options.num_layers,
        block=options.block,
        projection=options.projection,
        projection_rank=options.projection_rank,
        draft_vocab_size=options.draft_vocab_size if smaller else None,
        condition_on_root=options.condition_on_root,
        condition_size=options.condition_size,
        base_model=facts.name,
    )
