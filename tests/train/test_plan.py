from pathlib import Path

import pytest

from headstart.errors import TrainingError
from headstart.train.plan import Plan, check_same_run, plan_for_time, read_plan


def plan(**changes: object) -> Plan:
    values = {"model": "m", "options": {"lr": 0.1}, "shard_size": 8, "tokens": 100, "steps": None, "epochs": 2.0, **changes}
    return Plan(**values)  # type: ignore[arg-type]


def test_comes_back_as_saved(tmp_path: Path) -> None:
    plan().save(tmp_path / "run.json")
    assert read_plan(tmp_path / "run.json") == plan()


def test_time_is_divided_between_data_and_training() -> None:
    """1000 s less 12 %: a token costs 1/500 s to write and 4 times 1/2000 s to train on, 4 ms together: 220,000 tokens."""
    made = plan_for_time(
        model="m",
        options={"max_new_tokens": 160},
        seconds=1000,
        tokens_per_second=500,
        steps_per_second=2,
        batch=1000,
        epochs=4,
    )
    assert made.tokens == pytest.approx(220_000, abs=2)
    assert made.steps == 880  # 4 x 220 batches
    assert made.shard_size == 137  # a tenth of the tokens, at most 160 to a conversation


def test_steps_follow_from_epochs_unless_time_set_them() -> None:
    assert plan().steps_for(per_epoch=7) == 14
    assert plan(steps=30).steps_for(per_epoch=7) == 30
    assert plan(steps=300).steps_for(per_epoch=7) == 70  # never more than ten epochs


def test_a_plan_knows_whose_answers_it_is_about() -> None:
    assert plan(options={"shards": "DIR"}).recorded
    assert not plan(options={"shards": None}).recorded
    assert not plan(options={}).recorded  # of before there was such an option


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(TrainingError, match="no run to resume"):
        read_plan(path)
    path.write_text("{")
    with pytest.raises(TrainingError, match="not JSON"):
        read_plan(path)
    path.write_text('{"format": 99}')
    with pytest.raises(TrainingError, match="another version"):
        read_plan(path)
    with pytest.raises(TrainingError, match="heads for m, not n"):
        check_same_run(plan(), "n", {"lr": 0.1}, path)
    with pytest.raises(TrainingError, match=r"lr=0\.1, not 0\.2"):
        check_same_run(plan(), "m", {"lr": 0.2}, path)
    check_same_run(plan(), "m", {"lr": 0.1}, path)


def test_a_model_in_another_format_has_other_states() -> None:
    kept = plan(dtype="bfloat16")
    check_same_run(kept, "m", {"lr": 0.1}, Path("run"), dtype="bfloat16")
    with pytest.raises(TrainingError, match="in bfloat16, and it is in float32 now; resume it with --dtype bfloat16"):
        check_same_run(kept, "m", {"lr": 0.1}, Path("run"), dtype="float32")
    check_same_run(plan(), "m", {"lr": 0.1}, Path("run"), dtype="float32")  # of a version that did not keep it


def test_each_plan_has_a_digest_of_its_own(tmp_path: Path) -> None:
    plan().save(tmp_path / "run.json")
    assert read_plan(tmp_path / "run.json").digest == plan().digest
    others = [plan(options={"lr": 0.2}), plan(given="x"), plan(cache="none"), plan(tokens=101), plan(dtype="float32")]
    assert len({each.digest for each in (plan(), *others)}) == 6


def test_a_run_from_before_there_was_an_option_ran_with_its_default() -> None:
    check_same_run(plan(), "m", {"lr": 0.1, "kind": "medusa"}, Path("run"))
    with pytest.raises(TrainingError, match="kind='medusa', not 'hydra'"):
        check_same_run(plan(), "m", {"lr": 0.1, "kind": "hydra"}, Path("run"))
