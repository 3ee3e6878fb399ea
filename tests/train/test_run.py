"""A whole run on a tiny model: about 2,000 answer tokens and a few dozen steps."""

import copy
import json
import resource
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.medusa import MedusaDrafter
from headstart.engine.engine import Engine
from headstart.errors import ChatTemplateError, DataError, TrainingError
from headstart.models.transformers_adapter import TransformersModel
from headstart.request import Request
from headstart.text.tokenizer import Tokenizer
from headstart.train.batches import Examples
from headstart.train.run import train
from headstart.train.shards import read_shard
from headstart.train.simulation import simulate
from headstart.trees.shape import TreeShape
from tests.tiny_models import adapter, tiny
from tests.train.accepted import accepted_in
from tests.train.chat_server import Serve, completion
from tests.train.small_run import OPTIONS, fresh


class Dying(TransformersModel):
    """A model whose process is killed when a step asks for roots' embeddings for the n-th time."""

    steps_left = 1 << 30

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise KeyboardInterrupt
        return super().embed(ids)


def copy_of_data(finished: Path, output: Path) -> Path:
    """A run that was killed when its data were complete."""
    shards = output / "run" / "shards"
    shards.mkdir(parents=True)
    (output / "run" / "run.json").write_bytes((finished / "run" / "run.json").read_bytes())
    for path in (finished / "run" / "shards").iterdir():
        (shards / path.name).write_bytes(path.read_bytes())
    return output


def with_options(output: Path, **changed: object) -> Path:
    """The run as if it had been started with other options."""
    path = output / "run" / "run.json"
    plan = json.loads(path.read_text())
    plan["options"].update(changed)
    path.write_text(json.dumps(plan))
    return output


def test_writes_heads_that_load_and_say_what_they_are(finished: Path) -> None:
    directory = HeadsDirectory.from_pretrained(finished)
    assert directory.config.num_heads == 3
    assert directory.config.draft_vocab_size == 200
    assert directory.config.base_model == "tiny"
    assert directory.tree.depth <= 3
    assert directory.nodes == 6
    assert directory.total > 0
    card = (finished / "README.md").read_text(encoding="utf-8")
    assert "Medusa heads for tiny" in card
    assert f"{directory.predicted['predicted']['8']:.2f}" in card
    decoded = directory.predicted["decoded"]
    assert [one["drafter"] for one in decoded] == ["medusa", "medusa-static"]
    for one in decoded:  # measured on 8 of the conversations that the prediction is about
        assert one["tokens_per_step"] == one["tokens"] / one["steps"]
        assert f"{one['tokens_per_step']:.2f} at 8 nodes" in card
        assert 1.0 <= one["lowest"] <= one["tokens_per_step"] <= one["highest"] <= 4.0
    account = json.loads((finished / "run" / "account.json").read_text())
    assert account["read"] == account["written"] + sum(account["skipped"].values()) + sum(account["failed"].values())
    assert account["written"] == predicted_conversations(finished)
    assert (finished / "loss.png").stat().st_size > 1000
    entries = [json.loads(line) for line in (finished / "run" / "log.jsonl").read_text().splitlines()]
    steps = [entry for entry in entries if entry["event"] == "step"]
    assert [entry["step"] for entry in steps] == list(range(len(steps)))
    assert steps[-1]["loss"] < steps[0]["loss"] - 0.5  # it learns


def predicted_conversations(run: Path) -> int:
    return len({n for path in (run / "run" / "shards").iterdir() for n in read_shard(path).conversation_ids})


def test_held_out_conversations_are_not_trained_on(finished: Path) -> None:
    predicted = HeadsDirectory.from_pretrained(finished).predicted
    shards = [read_shard(path) for path in sorted((finished / "run" / "shards").iterdir())]
    everything = sum(length - 1 for shard in shards for length in shard.answer_lengths)
    trained = Examples(shards, {n for shard in shards for n in shard.conversation_ids})
    assert len(trained) == everything
    assert predicted["conversations"] == 8
    assert f"{everything - predicted['examples']:,} positions" in (finished / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("steps", [0, 1, 11, 29])
def test_a_killed_run_ends_with_the_very_same_heads(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path, steps: int
) -> None:
    output = copy_of_data(finished, tmp_path / "heads")
    dying = fresh(llama, Dying)
    assert isinstance(dying, Dying)
    dying.steps_left = steps
    resumed = replace(OPTIONS, resume=True)
    with pytest.raises(KeyboardInterrupt):
        # a checkpoint after every step for some, only at evaluations for others
        train(dying, tokenizer, output, options=resumed, checkpoint_seconds=0 if steps % 2 else 1e9)
    train(fresh(llama), tokenizer, output, options=resumed)
    expected, got = load_file(finished / "heads.safetensors"), load_file(output / "heads.safetensors")
    assert expected.keys() == got.keys()
    assert all(torch.equal(expected[name], got[name]) for name in expected)  # bit for bit
    assert (output / "tree.json").read_text() == (finished / "tree.json").read_text()
    logs = [(path / "run" / "log.jsonl").read_text() for path in (finished, output)]
    assert logs[0] == logs[1]


def test_simulated_steps_are_the_engines(finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer) -> None:
    """The engine decodes the greedy answers again with the trained heads: the simulation counts the very same passes."""
    directory = HeadsDirectory.from_pretrained(finished)
    shards = [read_shard(path) for path in sorted((finished / "run" / "shards").iterdir())]
    model = fresh(llama)
    heads = directory.heads.float()
    shape = directory.tree.limited(nodes=8)
    shard = shards[0]
    examples = Examples(shards[:1], set(shard.conversation_ids))
    ranks_EK = exact_ranks(heads, examples, model)
    engine = Engine(model, {"medusa": MedusaDrafter(HeadGuesses(heads, model), StaticTree(shape))}, nodes=8)
    greedy = [i for i, (n, is_greedy) in enumerate(zip(shard.answer_lengths, shard.greedy, strict=True)) if is_greedy and n > 1][:6]
    spans = [span for span in examples.spans if span.greedy][:6]
    for i, span in zip(greedy, spans, strict=True):
        start = sum(shard.prompt_lengths[:i])
        engine.add(
            Request(
                prompt_ids=shard.prompt_tokens[start : start + shard.prompt_lengths[i]].tolist(),
                stop_ids=frozenset({257}),
                max_new_tokens=24,
                drafter="medusa",
            )
        )
        steps = 0
        ids: list[int] = []
        while engine.has_work:
            (event,) = engine.step()
            ids += event.token_ids
            steps = event.stats.steps
        assert ids == examples.answer(span).tolist()
        assert simulate(accepted_in(shape, ranks_EK), [span]) == (len(ids) - 1, steps)


@torch.no_grad()
def exact_ranks(heads: torch.nn.Module, examples: Examples, model: TransformersModel) -> torch.Tensor:
    """Ranks computed the plain way: sort all logits of the heads as the drafter sees them."""
    batch = examples.gather(torch.arange(len(examples)), 3, torch.device("cpu"))
    ids_V = heads.draft_ids_V
    assert isinstance(ids_V, torch.Tensor)
    logits_KBV = heads(batch.hidden_BD, model.embed(batch.roots_B).clone(), model.projection(ids_V))
    order_KBV = ids_V[logits_KBV.argsort(-1, descending=True)]
    hit_KBV = order_KBV == batch.targets_BK.T[..., None]
    rank_KB = torch.where(hit_KBV.any(-1), hit_KBV.int().argmax(-1), 10).clamp(max=10)
    return torch.where(batch.targets_BK == -1, -1, rank_KB.T).to(torch.int8)


def test_trees_beat_plain_decoding_after_training(finished: Path) -> None:
    predicted = HeadsDirectory.from_pretrained(finished).predicted
    assert predicted["simulated"]["8"] > 1.05
    assert TreeShape.chain(3).depth == 3


def test_a_state_that_is_not_finite_names_step_and_batch(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    output = copy_of_data(finished, tmp_path / "heads")
    path = sorted((output / "run" / "shards").iterdir())[0]
    shard, tensors = read_shard(path), load_file(path)
    tensors["hidden"][:] = float("nan")
    path.write_bytes(safetensors.torch.save(tensors, shard.metadata))
    broken = r"step 1: the loss is nan.*shards 0.*conversations.*Start anew with a lower --lr"
    with pytest.raises(TrainingError, match=rf"{broken}, or delete these shards and use --resume: they are made anew$"):
        train(fresh(llama), tokenizer, output, options=replace(OPTIONS, resume=True))
    options = replace(OPTIONS, tokens=None, shards=output / "run" / "shards")
    with pytest.raises(TrainingError, match=rf"{broken}$"):  # nobody here makes another run's shards anew
        train(fresh(llama), tokenizer, tmp_path / "out", options=options)


def test_a_disk_that_fills_in_training_loses_nothing(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    output = copy_of_data(finished, tmp_path / "heads")
    resumed = replace(OPTIONS, resume=True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))  # a checkpoint is larger
    try:
        with pytest.raises(TrainingError, match=r"checkpoint.*make room and run the same command with --resume"):
            train(fresh(llama), tokenizer, output, options=resumed)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list((output / "run").glob("*.part"))
    train(fresh(llama), tokenizer, output, options=resumed)
    assert (output / "heads.safetensors").read_bytes() != b""


def test_runs_are_not_mixed_up(finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"there is a run in .* already"):
        train(fresh(llama), tokenizer, finished, options=OPTIONS)
    with pytest.raises(TrainingError, match="batch=128, not 64"):
        train(fresh(llama), tokenizer, finished, options=replace(OPTIONS, resume=True, batch=64))
    with pytest.raises(TrainingError, match="no run to resume"):
        train(fresh(llama), tokenizer, tmp_path, options=replace(OPTIONS, resume=True))


def test_too_few_conversations(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"prompt": "a", "response": "b"}\n' * 5)
    with pytest.raises(DataError, match="5 conversations to train on are too few"):
        train(fresh(llama), tokenizer, tmp_path / "out", options=replace(OPTIONS, data=(data,), tokens=None))
    assert not (tmp_path / "out").exists()  # so that it can be tried again with more


def test_given_answers_and_own_projections(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Answers that all say the same are learned nearly by heart."""
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"prompt": f"question {i}", "response": "the very same answer"}) + "\n" for i in range(60)))
    options = replace(
        OPTIONS,
        data=(data,),
        keep_answers=True,
        tokens=None,
        projection="own",
        draft_vocab_size=0,
        epochs=20,
        batch=256,
        soft_targets=0.0,
    )
    result = train(fresh(llama), tokenizer, tmp_path / "out", options=options)
    assert result.tokens == 60 * 21  # 20 letters and the end of the turn
    assert result.evaluation.top_KT[0][0] > 0.9
    assert result.evaluation.simulated == {}  # given answers need not be greedy
    assert HeadsDirectory.from_pretrained(tmp_path / "out").config.projection == "own"


def test_low_rank_projections_of_a_model_that_caps_its_logits(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Refused before anything is read or written, and not when the data have been made."""
    options = replace(OPTIONS, projection="low-rank")
    with pytest.raises(TrainingError, match=r"the model caps its logits.*choose --projection shared or own$"):
        train(adapter(tiny("gemma2")), tokenizer, tmp_path / "out", options=options)
    assert not (tmp_path / "out").exists()


def test_rows_that_are_lost_are_counted_and_named(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """24 good rows, a malformed one, one without an answer, and one that is a bundled evaluation prompt."""
    data = tmp_path / "data.jsonl"
    rows = [json.dumps({"prompt": f"question {i}", "response": "the very same answer"}) for i in range(24)]
    asked = "Explain to a twelve-year-old why the sky turns red in the evening."
    rows[3:3] = ["{", '{"prompt": "only"}', json.dumps({"prompt": asked, "response": "because"})]
    data.write_text("\n".join(rows))
    options = replace(OPTIONS, data=(data,), keep_answers=True, tokens=None, epochs=1)
    train(fresh(llama), tokenizer, tmp_path / "out", options=options)
    account = json.loads((tmp_path / "out" / "run" / "account.json").read_text())
    assert (account["read"], account["written"], account["failed"]) == (27, 24, {})
    assert account["skipped"] == {"malformed": 1, "no answer to keep": 1, "shares words with an evaluation prompt": 1}
    assert account["named"][0].startswith(f"{data}:4: not JSON")
    line = "rows: 27 read = 24 written + 3 skipped"
    assert line in (tmp_path / "out" / "README.md").read_text()
    with pytest.raises(DataError, match=r"(?s)more than 1 bad rows.*:4: not JSON.*:5: no assistant message"):
        train(fresh(llama), tokenizer, tmp_path / "other", options=replace(options, max_bad_rows=1))


def test_a_tokenizer_of_another_model(llama: LlamaForCausalLM, tokenizer_of, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    other = tokenizer_of("llama-3")
    other.hf.add_tokens(["one", "two"])  # 262 tokens, the model has 260
    with pytest.raises(TrainingError, match=r"the tokenizer has 262 tokens and the model 260"):
        train(fresh(llama), other, tmp_path / "out", options=OPTIONS)


def test_a_template_that_refuses_a_row(llama: LlamaForCausalLM, tokenizer_of, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Found before anything is written: in the middle of a run it would end it."""
    strict = tokenizer_of("chatml")
    strict.hf.chat_template = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + strict.hf.chat_template
    )
    data = tmp_path / "data.jsonl"
    data.write_text('{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}\n')
    with pytest.raises(DataError, match=r"(?s)no row of the data is left.*data.jsonl:1: .*no system"):
        train(fresh(llama), strict, tmp_path / "out", options=replace(OPTIONS, data=(data,)))


def test_a_batch_without_any_label(finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Heads that choose from a single token, and batches of two positions: soon one has nothing to guess."""
    output = with_options(copy_of_data(finished, tmp_path / "heads"), draft_vocab_size=1, batch=2)
    options = replace(OPTIONS, resume=True, draft_vocab_size=1, batch=2)
    with pytest.raises(TrainingError, match=r"step \d+: no token .* among the 1 that .*shards \d.*--draft-vocab-size"):
        train(fresh(llama), tokenizer, output, options=options)


def test_a_checkpoint_of_other_heads(finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The checkpoint of three heads in the run of two."""
    output = with_options(copy_of_data(finished, tmp_path / "heads"), num_heads=2)
    (output / "run" / "checkpoint.safetensors").write_bytes((finished / "run" / "checkpoint.safetensors").read_bytes())
    with pytest.raises(TrainingError, match=r"checkpoint .* is not of the run that .* describes.*Delete it to train anew on"):
        train(fresh(llama), tokenizer, output, options=replace(OPTIONS, resume=True, num_heads=2))


def test_a_checkpoint_of_another_run_with_heads_alike(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """All shapes fit; the run would end where the other one ended, and its card would tell the rate of this one."""
    output = with_options(copy_of_data(finished, tmp_path / "heads"), lr=5e-2)
    (output / "run" / "checkpoint.safetensors").write_bytes((finished / "run" / "checkpoint.safetensors").read_bytes())
    with pytest.raises(TrainingError, match=r"checkpoint .* is not of the run that run\.json beside it describes"):
        train(fresh(llama), tokenizer, output, options=replace(OPTIONS, resume=True, lr=5e-2))


def test_a_checkpoint_that_cannot_be_read_is_not_called_damaged(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    output = copy_of_data(finished, tmp_path / "heads")
    (output / "run" / "checkpoint.safetensors").mkdir()
    with pytest.raises(TrainingError, match=r"checkpoint .* cannot be read: .*It may be whole"):
        train(fresh(llama), tokenizer, output, options=replace(OPTIONS, resume=True))


def test_a_models_own_directory_is_no_output(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Heads have a config.json and a README.md as models have."""
    llama.save_pretrained(tmp_path)
    before = (tmp_path / "config.json").read_bytes()
    with pytest.raises(TrainingError, match=r"a model lies in .*, and what is trained would replace its files"):
        train(fresh(llama), tokenizer, tmp_path, options=OPTIONS)
    assert (tmp_path / "config.json").read_bytes() == before
    train(fresh(llama), tokenizer, tmp_path / "headstart", options=OPTIONS)


def test_a_damaged_checkpoint(finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    output = copy_of_data(finished, tmp_path / "heads")
    whole = (finished / "run" / "checkpoint.safetensors").read_bytes()
    (output / "run" / "checkpoint.safetensors").write_bytes(whole[:-9])
    with pytest.raises(TrainingError, match=r"checkpoint .* cannot be used: (?s:.*)Delete it to train anew on the same data"):
        train(fresh(llama), tokenizer, output, options=replace(OPTIONS, resume=True))


def test_a_model_in_another_format_is_refused_before_answers_are_made(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    output = copy_of_data(finished, tmp_path / "heads")
    sorted((output / "run" / "shards").iterdir())[-1].unlink()
    shards = sorted((output / "run" / "shards").iterdir())
    other = fresh(copy.deepcopy(llama).to(torch.bfloat16))
    with pytest.raises(TrainingError, match=r"the model in float32, and it is in bfloat16 now; resume it with --dtype float32"):
        train(other, tokenizer, output, options=replace(OPTIONS, resume=True))
    assert sorted((output / "run" / "shards").iterdir()) == shards


def test_a_picture_that_the_disk_has_no_room_for(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    output = tmp_path / "heads"
    shutil.copytree(finished, output)
    (output / "loss.png").unlink()
    (output / "loss.png").mkdir()
    with pytest.raises(TrainingError, match=r"cannot write .*loss\.png: .*run the same command with --resume"):
        train(fresh(llama), tokenizer, output, options=replace(OPTIONS, resume=True))


def test_an_endpoints_answers_are_trained_on(serve: Serve, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"prompt": f"question {i}"}) + "\n" for i in range(20)))
    server = serve(lambda number, body: completion("the very same answer"))
    options = replace(OPTIONS, data=(data,), tokens=None, epochs=1, endpoint=server.url, endpoint_model="tiny")
    result = train(fresh(llama), tokenizer, tmp_path / "out", options=options)
    assert result.tokens == 20 * 21  # 20 letters and the end of the turn
    assert "answers written by tiny at an endpoint" in (tmp_path / "out" / "README.md").read_text()


def test_minutes_become_a_plan(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    train(fresh(llama), tokenizer, tmp_path / "out", options=replace(OPTIONS, tokens=None, minutes=0.05))
    plan = json.loads((tmp_path / "out" / "run" / "run.json").read_text())
    assert plan["tokens"] > 0
    assert plan["steps"] > 0


def test_no_template_and_no_data(llama: LlamaForCausalLM, tokenizer_of, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    bare = tokenizer_of("chatml")
    bare.hf.chat_template = None
    with pytest.raises(ChatTemplateError, match="no chat template"):
        train(fresh(llama), bare, tmp_path / "out", options=OPTIONS)
