"""Answers of another run: what is missing among them, whose they are, and what is said of them."""

from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM

from headstart.errors import DataError, TrainingError
from headstart.models.transformers_adapter import TransformersModel
from headstart.train.digest import digest_of_answers
from headstart.train.plan import Plan
from headstart.train.recorded import Recorded, check_given, enough, read_recorded
from headstart.train.shards import Answer, shard_path, write_shard
from headstart.train.state_cache import COMPUTED
from headstart.train.states import states_of

ANSWER = 6


@pytest.fixture
def recorded(model: TransformersModel, tmp_path: Path) -> Path:
    """Five shards of two answers, the first of a single token and without states."""
    write(tmp_path, model)
    return tmp_path


def write(directory: Path, model: TransformersModel, metadata: dict[str, str] | None = None, *, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for number in range(5):
        groups = []
        for length in (1, 1) if number == 0 else (ANSWER, ANSWER):
            ids = torch.randint(0, 250, (4 + length,), generator=generator).tolist()
            states_TD = states_of(model, ids)[3 : 3 + length - 1].clone()
            groups.append([Answer(ids[:4], ids[4:], states_TD[: 0 if metadata else None], True, "test")])
        write_shard(shard_path(directory, number), 2 * number, groups, metadata or {})


def other(llama: LlamaForCausalLM) -> TransformersModel:
    """Another model of the same sizes, under another name."""
    torch.manual_seed(9)
    return TransformersModel(LlamaForCausalLM(llama.config).eval(), name="other", max_rows=8, cache_tokens=1024)


def test_all_shards_are_read(recorded: Path) -> None:
    shards = read_recorded(recorded, hidden_size=32, vocab_size=260)
    assert [shard.conversation_ids for shard in shards] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert [shard.hidden_SD.shape for shard in shards] == [(0, 32), *[(10, 32)] * 4]
    assert [len(enough(shards, tokens)) for tokens in (1, 2, 3, 14, 15, 99)] == [1, 1, 2, 2, 3, 5]  # 2, 12, 12, 12, 12 tokens


@pytest.mark.parametrize("missing", [0, 3])
def test_a_gap_is_no_end(recorded: Path, missing: int) -> None:
    shard_path(recorded, missing).unlink()
    with pytest.raises(DataError, match=rf"shard-0000{missing}\.safetensors is missing, and shard-00004\.safetensors comes after"):
        read_recorded(recorded, hidden_size=32, vocab_size=260)


def test_a_damaged_shard_is_not_to_be_deleted_here(recorded: Path) -> None:
    path = shard_path(recorded, 3)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=r"shard-00003.*cannot be read.*\. Copy it again; or delete it where it was recorded"):
        read_recorded(recorded, hidden_size=32, vocab_size=260)


def test_a_run_goes_on_with_the_answers_that_it_began_with(model: TransformersModel, recorded: Path, tmp_path: Path) -> None:
    """The last shard gone, and answers of the same lengths with other ids."""
    shards = read_recorded(recorded, hidden_size=32, vocab_size=260)
    plan = Plan("tiny", {"shards": "DIR"}, 2, 50, None, 1.0, given=digest_of_answers(shards))
    check_given(shards, plan, Path("RUN"))
    again = tmp_path / "again"
    again.mkdir()
    write(again, model, seed=1)
    for changed in (shards[:-1], read_recorded(again, hidden_size=32, vocab_size=260)):
        with pytest.raises(TrainingError, match="the answers in DIR are not those that the run in RUN was started with; put them"):
            check_given(changed, plan, Path("RUN"))
    check_given(shards[:-1], Plan("tiny", {"shards": "DIR"}, 2, 50, None, 1.0), Path("RUN"))  # of a version that kept no digest


def test_states_that_have_gone_since(model: TransformersModel, recorded: Path, tmp_path: Path) -> None:
    """The same ids recorded once more, with --cache none: a run that reads states cannot go on with those."""
    again = tmp_path / "again"
    again.mkdir()
    write(again, model, {"cache": "none"})
    with_states, without = (read_recorded(each, hidden_size=32, vocab_size=260, states=False) for each in (recorded, again))
    given = digest_of_answers(with_states)
    assert digest_of_answers(without) == given
    with pytest.raises(TrainingError, match="not those that the run in RUN was started with"):
        check_given(without, Plan("tiny", {"shards": "DIR"}, 2, 50, None, 1.0, "disk", given), Path("RUN"))
    check_given(without, Plan("tiny", {"shards": "DIR"}, 2, 50, None, 1.0, "none", given), Path("RUN"))


@pytest.mark.parametrize("cache", ["auto", "disk", "none"])
def test_another_models_answers_are_refused_wherever_there_are_states(
    llama: LlamaForCausalLM, model: TransformersModel, recorded: Path, cache: str
) -> None:
    """Also where they are to be computed: the ids are the other model's all the same. The first shard has nothing to compare."""
    assert Recorded(recorded, model, cache).tokens == 2 + 4 * 2 * ANSWER  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"recorded with another model than other: .*cosine -?0\.\d\d, expected at least 0\.9"):
        Recorded(recorded, other(llama), cache)  # type: ignore[arg-type]


def test_what_is_said_of_them(model: TransformersModel, recorded: Path) -> None:
    source = Recorded(recorded, model, "auto")
    assert (source.total, source.shard_size, source.cache) == (10, 2, "disk")
    assert source.lines(None) == [f"50 answer tokens are recorded in {recorded}, 50 are taken"]
    assert source.lines(15) == [f"50 answer tokens are recorded in {recorded}, 26 are taken"]  # 2 + 12 + 12: whole shards
    assert source.lines(70) == [f"50 answer tokens are recorded in {recorded}, 50 are taken, fewer than the 70 asked for"]
    assert Recorded(recorded, model, "none").lines(None)[1:] == [COMPUTED]


def test_without_states_names_are_compared(llama: LlamaForCausalLM, model: TransformersModel, tmp_path: Path) -> None:
    """Names differ for innocent reasons as well (a path, a hub id), so that it is said and not refused."""
    write(tmp_path, model, {"cache": "none", "model": "tiny"})
    assert Recorded(tmp_path, model, "auto").lines(None)[1:] == [COMPUTED]
    doubt = "without recorded states nothing tells whether these answers are this model's: it is other, and they were recorded with"
    assert Recorded(tmp_path, other(llama), "auto").lines(None)[1:] == [f"{doubt} tiny", COMPUTED]
    write(tmp_path, model, {"cache": "none"})
    assert Recorded(tmp_path, other(llama), "none").lines(None)[1] == f"{doubt} one that they do not name"
    with pytest.raises(DataError, match=r"holds no hidden states.*Record the answers anew with --cache disk"):
        Recorded(tmp_path, model, "disk")
