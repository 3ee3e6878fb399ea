"""What is made for a model once and used by every later call: it hangs on the model, and goes with it."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from transformers import PreTrainedModel

from headstart.errors import HeadstartError
from headstart.llm import LLM

_PLACE = "_headstart"


class Kept:
    """The model ready to decode, by the options that it was made ready with. One call at a time uses it."""

    def __init__(self) -> None:
        self._made_of: Hashable = None
        self._llms: dict[Hashable, LLM] = {}
        self._lock = threading.RLock()

    @contextmanager
    def lent(self, model: PreTrainedModel, options: Hashable, make: Callable[[], LLM]) -> Iterator[LLM]:
        """The one of these options, for the caller alone; the model is in eval mode meanwhile.

        Raises:
            HeadstartError: the caller is inside such a call already.
        """
        with self._lock, _evaluating(model):
            made_of = _weights(model)
            if made_of != self._made_of:  # what was made before is of no more use
                self._llms, self._made_of = {}, made_of
            if options not in self._llms:
                self._llms[options] = make()
            llm = self._llms[options]
            if llm.engine.has_work:
                raise HeadstartError(
                    "this model is generating with custom_generate, and something that it calls (a streamer, a processor or a"
                    " criterion) asks it to generate again; let that call use plain generate"
                )
            yield llm

    def __deepcopy__(self, memo: dict[int, Any]) -> "Kept":
        return Kept()  # a copy of the model has weights of its own

    def __reduce__(self) -> tuple[type["Kept"], tuple[()]]:
        return Kept, ()


def kept(model: PreTrainedModel) -> Kept:
    """What is kept for this model."""
    return vars(model).setdefault(_PLACE, Kept())  # type: ignore[no-any-return]  # the values of vars() are Any


def _weights(model: PreTrainedModel) -> Hashable:
    """Tells whether a model is still the one that something was made for: moved, converted or resized, it is not."""
    ends: list[Any] = [model.get_input_embeddings(), model.get_output_embeddings()]
    weights = [(end, weight) for end in ends if (weight := getattr(end, "weight", None)) is not None]
    # by the modules, not by their weights: a model that is offloaded has new ones after each pass
    return tuple((id(end), weight.shape, weight.device, weight.dtype) for end, weight in weights)


@contextmanager
def _evaluating(model: PreTrainedModel) -> Iterator[None]:
    """The model in eval mode, and each of its modules as it was afterwards."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
