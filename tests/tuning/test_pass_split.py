"""Where the time of a pass goes."""

import pytest
import torch

from headstart.errors import InvalidParameterError
from headstart.tuning.pass_split import PassSplit, kind_of, pass_split
from tests.tiny_models import adapter, build, native


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("mkldnn::_linear_pointwise", "products"),
        ("onednn::qlinear_pointwise", "products"),
        ("aten::_weight_int8pack_mm", "products"),
        ("aten::mm", "products"),
        ("aten::addmm", "products"),
        ("aten::linear", "products"),
        ("aten::bmm", "attention"),
        ("aten::_softmax", "attention"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::mul", "small"),
        ("aten::copy_", "small"),
        ("aten::index_select", "small"),
        ("aten::silu", "small"),
        ("aten::linalg_vector_norm", "small"),
    ],
)
def test_kinds(operation: str, kind: str) -> None:
    assert kind_of(operation) == kind


@pytest.mark.parametrize("make", [native, adapter])
def test_parts_of_a_pass(make: type, capfd: pytest.CaptureFixture[str]) -> None:
    model = make(build("llama", dtype=torch.float32))
    split = pass_split(model, nodes=4, context=10)
    assert split is not None
    assert split.products > 0
    assert split.attention > 0
    assert split.small > 0
    assert split.between >= 0
    assert split.total == split.products + split.attention + split.small + split.between
    assert model.cache.rows == 0
    assert capfd.readouterr().err == ""  # the profiler's own marks are nobody's business


def test_errors_are_the_warm_pass_s() -> None:
    with pytest.raises(InvalidParameterError, match="do not fit"):
        pass_split(native(build("llama")), nodes=4, context=500)


def test_total() -> None:
    assert PassSplit(products=4.0, attention=2.0, small=1.0, between=3.0).total == 10.0
