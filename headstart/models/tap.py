"""Access to what a model computes before its last layer, for drafters whose heads begin there."""

import torch


class Tap:
    """Keeps the states before the last layer of the newest pass, once somebody has opened it. Closed, it costs nothing."""

    def __init__(self) -> None:
        self.wanted = False
        self._states_BND: torch.Tensor | None = None

    def open(self) -> None:
        self.wanted = True

    def keep(self, states_BND: torch.Tensor) -> None:
        """For models: the states of a pass, of as many nodes as it returns hidden states of."""
        if self.wanted:
            self._states_BND = states_BND

    @property
    def states_BND(self) -> torch.Tensor:
        """Those of the newest pass, B x N x D, before any norm."""
        assert self._states_BND is not None, "no pass since the tap was opened"
        return self._states_BND
