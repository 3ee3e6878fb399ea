import copy

import pytest
import torch
from transformers import LlamaForCausalLM

from headstart.train.joint.backbone import Backbone
from headstart.train.joint.options import JointOptions
from headstart.train.joint.packing import pack, rows_of
from headstart.train.joint.texts import Text


def text(first: int, length: int) -> Text:
    ids = torch.arange(first, first + length + 1)  # the last one is predicted and not read
    return Text(ids=ids, prompt=1, states_SD=None, first=0, conversation=0, greedy=True)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@torch.no_grad()
def test_a_packed_text_has_the_states_that_it_has_alone(llama: LlamaForCausalLM, attention: str) -> None:
    """Two rows, the shorter one padded: in float64, each text's states are those of a pass over it alone."""
    near = 1e-12 if attention == "sdpa" else 1e-5  # the eager softmax is float32, and sums rows of other lengths otherwise
    model = copy.deepcopy(llama).double()
    model.set_attn_implementation(attention)
    rows = rows_of([text(10, 5), text(30, 4), text(50, 7), text(70, 2)], 10)
    assert [[len(each.ids) - 1 for each in row] for row in rows] == [[5, 4], [7, 2]]
    backbone = Backbone(model, "tiny", JointOptions(heads="", backbone="full"), torch.float32)
    packed = pack(rows, torch.device("cpu"))
    together_BTD = backbone.hidden(packed.ids_BT, packed.positions_BT)
    assert together_BTD.dtype == torch.float64
    for row, states_TD in zip(rows, together_BTD):
        start = 0
        for each in row:
            alone_TD = model.model(each.ids[None, :-1]).last_hidden_state[0]
            torch.testing.assert_close(states_TD[start : start + len(alone_TD)], alone_TD, atol=near, rtol=near)
            start += len(alone_TD)
