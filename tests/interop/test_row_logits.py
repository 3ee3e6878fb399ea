"""Which processors our own sampling parameters stand for, and what is recorded of the places that were looked at."""

import pytest
import torch
from transformers import (
    EtaLogitsWarper,
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)
from transformers.generation.logits_process import LogitNormalization

from headstart.interop.row_logits import Recorder, RowLogits, split

T, K, P = TemperatureLogitsWarper(0.5), TopKLogitsWarper(7), TopPLogitsWarper(0.9)
M, Y, ETA = MinPLogitsWarper(0.1), TypicalLogitsWarper(0.8), EtaLogitsWarper(0.1, device="cpu")
FIRST, LAST = MinNewTokensLengthLogitsProcessor(3, 4, 2, device="cpu"), LogitNormalization()


@pytest.mark.parametrize(
    ("processors", "left", "params"),
    [
        ([], 0, {}),
        ([FIRST, T, K, P, M, Y], 1, {"temperature": 0.5, "top_k": 7, "top_p": 0.9, "min_p": 0.1, "typical_p": 0.8}),
        ([T, P, LAST], 0, {"temperature": 0.5, "top_p": 0.9}),
        ([FIRST], 1, {}),
        # ours would come in another order: what precedes has to run as it is
        ([P, T], 1, {"temperature": 0.5}),
        ([K, T, K], 1, {"temperature": 0.5, "top_k": 7}),
        # nothing of ours stands for the last one, so that all before it has to run
        ([T, K, ETA], 3, {}),
        ([T, TopPLogitsWarper(0.0)], 2, {}),
        ([T, TopKLogitsWarper(7, min_tokens_to_keep=2)], 2, {}),
        ([T, TopKLogitsWarper(7, filter_value=-5.0)], 2, {}),
    ],
)
def test_split(processors: list[object], left: int, params: dict[str, float]) -> None:
    needed, found = split(LogitsProcessorList(processors))
    assert list(needed) == processors[:left]
    assert found == params


def test_what_was_emitted_is_kept() -> None:
    """Of a tree's places those on the path that was taken, in order."""
    recorder = Recorder(logits=True, scores=True)
    places = {(): 0.0, (5,): 1.0, (6,): 2.0, (5, 7): 3.0}
    for ids, value in places.items():
        recorder.see(ids, torch.tensor([value]), torch.tensor([-value]))
    assert [float(one) for one in recorder.scores_for([5, 7])] == [0.0, -1.0]
    recorder.emit([5, 7, 9], 3)
    recorder.see([5, 7, 9], torch.tensor([4.0]), torch.tensor([-4.0]))
    assert [float(one) for one in recorder.scores_for([5, 7, 9, 2])] == [0.0, -1.0, -3.0, -4.0]
    recorder.emit([5, 7, 9, 2], 1)
    assert [float(one) for one in recorder.logits] == [0.0, 1.0, 3.0, 4.0]
    assert [float(one) for one in recorder.scores] == [0.0, -1.0, -3.0, -4.0]


def test_processors_see_the_padding_and_every_row() -> None:
    seen = []

    def shift(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        seen.append(input_ids.tolist())
        return scores + torch.arange(3)[:, None]

    row = RowLogits(
        LogitsProcessorList([shift]),
        LogitsProcessorList([shift]),
        torch.tensor([0, 0]),
        prompt_length=2,
        row=1,
        rows=3,
        recorder=None,
    )
    assert row(torch.tensor([[8, 9, 4]]), torch.tensor([[0.5, 1.5]])).tolist() == [[1.5, 2.5]]
    assert seen == [[[0, 0, 8, 9, 4]] * 3]
