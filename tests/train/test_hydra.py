"""A whole run that trains Hydra heads on a tiny model."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.hydra import HydraDrafter
from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_trees import GrownLevels, LevelTree, StaticLevels
from headstart.engine.engine import Engine
from headstart.errors import InvalidParameterError
from headstart.request import Request
from headstart.text.tokenizer import Tokenizer
from headstart.train import loop
from headstart.train.batches import AnswerSpan, Examples
from headstart.train.evaluation import evaluate, guesses
from headstart.train.held_out import held_out
from headstart.train.hydra_simulation import simulate_grown
from headstart.train.loop import Trainer
from headstart.train.plan import Plan
from headstart.train.run import train
from headstart.train.shards import Shard, read_shard
from headstart.train.simulation import cross_simulated, simulate
from headstart.trees.search import grow
from headstart.tuning.calibration import fit_calibration
from tests.train.accepted import accepted_in
from tests.train.test_run import OPTIONS, Dying, copy_of_data, fresh

HYDRA = replace(OPTIONS, kind="hydra", tokens=700, epochs=8)


@pytest.fixture(scope="module")
def finished(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run; nobody writes into it."""
    output = tmp_path_factory.mktemp("hydra") / "heads"
    train(fresh(llama), tokenizer, output, options=HYDRA)
    return output


@pytest.fixture
def held(finished: Path, llama: LlamaForCausalLM, monkeypatch: pytest.MonkeyPatch) -> tuple[Trainer, Examples, list[Shard]]:
    """The trained heads in float32, the conversations that were held out, and all shards."""
    monkeypatch.setattr(loop, "training_dtype", lambda device: torch.float32)
    shards = [read_shard(path) for path in sorted((finished / "run" / "shards").iterdir())]
    conversations = sorted({number for shard in shards for number in shard.conversation_ids})
    kept = Examples(shards, held_out(conversations))
    heads = HeadsDirectory.from_pretrained(finished).heads.float()
    everything = torch.arange(heads.config.projected_vocab)
    plan = Plan("", {}, 1, 1, 1, 1.0)
    trainer = Trainer(
        fresh(llama), heads, kept, by_frequency_V=everything, plan=plan, batch=4, peak_rate=1e-3, seed=0, soft_targets=0.5
    )
    return trainer, kept, shards


def test_writes_hydra_heads(finished: Path) -> None:
    directory = HeadsDirectory.from_pretrained(finished)
    assert directory.config.kind == "hydra"
    assert [tuple(weight.shape) for weight in directory.heads.path_in] == [(64, 32), (64, 64)]  # 1 and 2 tokens of the path
    assert bool((directory.heads.path_in[1] != 0).any())
    assert directory.calibration is not None
    card = (finished / "README.md").read_text(encoding="utf-8")
    assert "# Hydra heads for tiny" in card
    assert "those of the candidates before their own" in card
    assert f"over answers with {directory.predicted['grown_examples']:,} positions" in card
    assert directory.predicted["grown_examples"] > 50


def test_heads_that_read_the_path_know_more(held: tuple[Trainer, Examples, list[Shard]]) -> None:
    """The text of a random model is a function of what was written: with the path given, heads 2 and 3 are right more often
    than with another path in its place. (They were trained on some thousand tokens, so by a small but sure margin.)"""
    trainer, kept, _ = held
    batch = kept.gather(torch.arange(len(kept)), 3, trainer.device)
    labels_KB = trainer.labels(batch)
    wrong = replace(batch, targets_BK=batch.targets_BK.roll(7, 0))
    with torch.no_grad():
        for k in (1, 2):
            losses = []
            for each in (batch, wrong):
                logits_BV = trainer.logits(k, trainer.states(each)[k])
                losses.append(float(torch.nn.functional.cross_entropy(logits_BV, labels_KB[k], ignore_index=-1)))
            assert losses[0] < losses[1] - 0.1


@pytest.mark.parametrize("steps", [1, 32])
def test_a_killed_run_ends_with_the_very_same_heads(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path, steps: int
) -> None:
    """Killed between the two embeddings of a first step, and in a later one, with a checkpoint after each step."""
    output = copy_of_data(finished, tmp_path / "heads")
    dying = fresh(llama, Dying)
    assert isinstance(dying, Dying)
    dying.steps_left = steps
    with pytest.raises(KeyboardInterrupt):
        train(dying, tokenizer, output, options=replace(HYDRA, resume=True), checkpoint_seconds=0)
    train(fresh(llama), tokenizer, output, options=replace(HYDRA, resume=True))
    expected, got = load_file(finished / "heads.safetensors"), load_file(output / "heads.safetensors")
    assert expected.keys() == got.keys()
    assert all(torch.equal(expected[name], got[name]) for name in expected)  # bit for bit
    assert (output / "tree.json").read_text() == (finished / "tree.json").read_text()


def steps_in_the_engine(
    tree: LevelTree, trainer: Trainer, kept: Examples, shard: Shard, spans: list[AnswerSpan], nodes: int
) -> int:
    """Passes that the engine takes for the greedy answers of one shard, by the order of the shard."""
    engine = Engine(trainer.model, {"hydra": HydraDrafter(HydraGuesses(trainer.heads, trainer.model), tree)}, nodes=nodes)
    steps = 0
    answers = [tuple(part.tolist()) for part in shard.tokens.split(shard.answer_lengths)]
    for span in spans:
        i = answers.index(tuple(kept.answer(span).tolist()))
        start = sum(shard.prompt_lengths[:i])
        prompt = shard.prompt_tokens[start : start + shard.prompt_lengths[i]].tolist()
        engine.add(Request(prompt_ids=prompt, stop_ids=frozenset({257}), max_new_tokens=24, drafter="hydra"))
        while engine.has_work:
            (event,) = engine.step()
        steps += event.stats.steps
    return steps


@pytest.mark.parametrize("nodes", [4, 8])
def test_simulated_steps_are_the_engines(held: tuple[Trainer, Examples, list[Shard]], nodes: int) -> None:
    """Static and grown trees: the simulation counts the very passes that the engine takes with the same heads."""
    trainer, kept, shards = held
    seen = guesses(trainer, kept)
    greedy = [span for span in kept.spans if span.greedy and span.shard == 0]
    tokens = sum(span.count for span in greedy)
    shape = grow({(0,): 9, (1,): 5, (0, 0): 4, (0, 1): 3, (1, 0): 3, (2,): 2, (0, 0, 0): 1}, nodes)
    static = simulate(accepted_in(shape, seen.rank_EK), greedy)
    assert static == (tokens, steps_in_the_engine(StaticLevels(shape), trainer, kept, shards[0], greedy, nodes))
    numbers = sorted({span.conversation for span in greedy})
    halves = [[span for span in greedy if span.conversation in set(numbers[half::2])] for half in range(2)]
    parts = [seen.of(half) for half in halves]
    lines = [fit_calibration(part.log_q_EKR, part.rank_EK.long()) for part in parts]
    steps = 0
    for half, line in zip(halves, reversed(lines), strict=True):
        tree = GrownLevels(3, trainer.heads.config.projected_vocab, line)
        steps += steps_in_the_engine(tree, trainer, kept, shards[0], half, nodes)
    grown, positions = simulate_grown(trainer, kept, seen, greedy, [2, nodes])
    assert positions == tokens
    assert grown[nodes] == tokens / steps
    # as if nothing depended on the path, what is found is another number
    assert cross_simulated(seen, greedy, [nodes])[nodes].static > 1


def test_evaluations_on_the_way_grow_no_trees(held: tuple[Trainer, Examples, list[Shard]]) -> None:
    """They would take most of the time."""
    trainer, kept, _ = held
    assert evaluate(trainer, kept, last=False)[0].grown == {}
    assert evaluate(trainer, kept)[0].grown[8] > 1


def test_hydra_heads_always_read_the_root() -> None:
    with pytest.raises(InvalidParameterError, match="kind is 'hydra' and condition_on_root is off"):
        replace(HYDRA, condition_on_root=False)
