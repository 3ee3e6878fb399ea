from pathlib import Path

import pytest
import torch

from headstart.errors import DataError
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.account import Account, Lost, check_bad_rows
from headstart.train.conversations import Given
from headstart.train.decontamination import SHARES, EvaluationPrompts
from headstart.train.generation import Regenerated, SelfWritten, fill, recipe_for, recording_pool, settle


def test_every_row_is_counted_once_with_its_reason() -> None:
    account = Account(read=7, written=3)
    account.lose([Lost("skipped", "malformed", "f:2: not JSON"), Lost("skipped", "malformed"), Lost("failed", "timed out")])
    with pytest.raises(DataError, match="7 read, but 6 written"):
        account.check()
    account.lose([Lost("skipped", "gave no answer")])
    account.check()
    assert account.line == ("rows: 7 read = 3 written + 3 skipped (2 malformed; 1 gave no answer) + 1 failed (1 timed out)")
    assert account.named == ["f:2: not JSON"]


def test_a_single_bad_row_speaks_for_itself() -> None:
    with pytest.raises(DataError, match=r"^f:2: not JSON$"):
        check_bad_rows([Lost("skipped", "malformed", "f:2: not JSON")], 0)


def test_the_account_of_a_run_that_stops_early(model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Of 12 rows a shard of 4 is enough, the second row of which fills the context; two were lost before."""
    given = [Given(f"f:{i}", messages=[{"role": "user", "content": "x" * 2000 if i == 1 else f"Question {i}?"}]) for i in range(12)]
    source = Regenerated(recording_pool(model, max_rows=8), recipe_for(model, tokenizer, seed=1, max_new_tokens=4), given)
    for _ in range(2):  # made, and read again by a run that was resumed
        shards = fill(tmp_path, source, tokens=2, shard_size=4, metadata={})
        account = settle(shards, source.total, [Lost("skipped", "malformed"), Lost("skipped", SHARES)])
        assert (account.read, account.written, account.failed) == (14, 3, {})
        assert account.skipped == {
            "malformed": 1,
            SHARES: 1,
            "leaves no room in the context": 1,
            "not needed, there were answers enough": 8,
        }


def test_self_written_questions_like_an_evaluation_prompt_are_left_out(
    model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """The whole questions among the first 16 are taken for evaluation prompts: they give no answer, the others do."""
    from headstart.train.questions import opening

    whole = {i: opening(i, 7).text for i in range(16) if opening(i, 7).complete}
    assert 0 < len(whole) < 16
    prompts = EvaluationPrompts(whole.values(), 8)
    recipe = recipe_for(model, tokenizer, seed=7, max_new_tokens=4, evaluation=prompts)
    source = SelfWritten(recording_pool(model, max_rows=8), recipe)
    shards = fill(tmp_path, source, tokens=1, shard_size=16, metadata={})
    assert set(shards[0].conversation_ids).isdisjoint(whole)
    account = settle(shards, source.total)
    assert account.skipped[SHARES] >= len(whole)
    assert account.written == 16 - account.skipped.total()
    assert torch.is_tensor(shards[0].tokens)
