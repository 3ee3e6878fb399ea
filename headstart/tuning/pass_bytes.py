"""How many bytes a pass reads, seen from the tensors that its operations are given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headstart.models.protocol import BaseModel
from headstart.tuning.warm_pass import WarmPass

# operations that read some rows of what they are given, as much as they return
_LOOKUPS = ("embedding", "index", "index_select", "gather", "take")
# operations whose matrix is no tensor but an object of FBGEMM's, and the bytes of one of its numbers
_OPAQUE = {"linear_dynamic_fp16": 2, "linear_with_input_q_dq_qweight_dq_output_fp32": 1}


@dataclass(frozen=True)
class PassBytes:
    """What a pass over one row reads."""

    weights: int
    """Everything that the pass is given and does not make itself, the LM head included; of the embeddings the rows used."""
    cache_per_position: int
    """Keys and values of one position, all layers together."""

    def total(self, context: int) -> int:
        """With ``context`` positions in the cache."""
        return self.weights + context * self.cache_per_position


def pass_bytes(model: BaseModel) -> PassBytes:
    """Run one plain step under watch. The model's cache has to be empty, and is so again.

    It counts what a step really reads, whatever the weights' format; of a mixture of experts all that the step was given.

    Raises:
        InvalidParameterError: the cache is in use.
    """
    with WarmPass(model, context=1, nodes=1) as one_pass:
        keys_RHSD, _ = model.cache.layer(0)
        positions = keys_RHSD.shape[0] * keys_RHSD.shape[2]
        watch = _Watch()
        with watch:
            one_pass(1)
    return PassBytes(weights=sum(watch.given.values()) + watch.opaque, cache_per_position=model.cache.nbytes // positions)


class _Watch(TorchDispatchMode):
    """Notes how much operations read of tensors that no operation under watch has made or written to."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.given: dict[int, int] = {}
        """Bytes by what names a tensor's memory."""
        self.opaque = 0
        """Bytes of matrices that are no tensors."""
        self._made: set[int] = set()
        self._alive: list[torch.Tensor] = []  # or another tensor could take the memory, and the name, of one that is gone

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        inputs, outputs = list(_tensors((args, kwargs))), list(_tensors(out))
        self._alive += [*inputs, *outputs]
        written = {_name(tensor) for tensor in _tensors(_written(func._schema, args, kwargs))}
        self._made |= written  # the cache is written to before it is read
        for name in written:
            self.given.pop(name, None)
        known = {_name(tensor) for tensor in inputs}
        made = [tensor for tensor in outputs if _name(tensor) not in known]
        if outputs and not made and not written:
            return out  # every result lies in the memory of an input: a view, which reads nothing
        operation = func._schema.name.split("::")[-1]
        if operation in _OPAQUE:  # a step multiplies by each matrix once
            columns, rows = inputs[0].shape[-1], outputs[0].shape[-1]
            self.opaque += columns * rows * _OPAQUE[operation]
        lookup = operation in _LOOKUPS
        for tensor in inputs:
            if (name := _name(tensor)) not in self._made:
                read = sum(map(_size, made)) if lookup else _size(tensor)
                self.given[name] = max(self.given.get(name, 0), read)
        self._made.update(map(_name, made))
        return out


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))


def _written(schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments that the operation writes to."""
    values = {**{argument.name: value for argument, value in zip(schema.arguments, args, strict=False)}, **kwargs}
    writes = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return [values[name] for name in writes if name in values]


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _name(tensor: torch.Tensor) -> int:
    """Of the memory that a tensor lies in; a packed weight does not show its memory and is named by itself."""
    return id(tensor) if tensor.is_mkldnn else tensor.untyped_storage().data_ptr()
