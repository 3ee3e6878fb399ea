"""Medusa: the base model's own last hidden state guesses the next tokens, in a static tree.

Source: Medusa (Cai et al. 2024), section 2.1. At temperature above 0 guesses are ranked by ``log q(x) + G(seed, t, x)``, with
the very noise that the base model's choice will see, so that a head that agrees with the model agrees on the draw as well.

Shapes: B rows, K heads, R ranks, N tree nodes, V projected vocabulary, D hidden, M accepted nodes.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.packed_heads import PackedHeads
from headstart.drafters.protocol import Budget, DrafterFacts
from headstart.errors import TreeError
from headstart.models.protocol import BaseModel
from headstart.sampling.noise import gumbel
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape


class MedusaDrafter:
    """K heads and a tree ordered by worth, of which each row gets as much as its budget allows.

    Raises:
        TreeError: the tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, heads: MedusaHeads, tree: TreeShape, model: BaseModel) -> None:
        config = heads.config
        if tree.depth > config.num_heads:
            raise TreeError(
                f"the tree is {tree.depth} deep, but there are {config.num_heads} heads; cut it with"
                f" tree.limited(depth={config.num_heads}) or train more heads"
            )
        if tree.width > config.projected_vocab:
            raise TreeError(
                f"the tree asks for guess number {tree.width} of a head that knows {config.projected_vocab} tokens; cut it with"
                f" tree.limited(width={config.projected_vocab})"
            )
        self.facts = DrafterFacts(name="medusa", depth=config.num_heads, nodes=len(tree), hidden="last")
        self.heads = heads.to(device=model.facts.device, dtype=model.facts.dtype).eval().requires_grad_(False)
        self.tree = tree
        self._device = model.facts.device
        self._embed = model.embed
        shared = model.projection(heads.draft_ids_V) if config.projection == "shared" else None
        self._logits: Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]
        self._logits = PackedHeads(heads, shared) if PackedHeads.worthwhile(heads) else partial(heads, shared=shared)
        self._hidden: dict[int, torch.Tensor] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._hidden[row] = hidden_TD[-1]

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        roots_B = torch.tensor([row.generated[-1] for row in sampling], device=self._device)
        shapes = [self.tree.limited(nodes=budget.nodes, depth=budget.depth) for budget in budgets]
        if all(len(shape) == 1 for shape in shapes):
            return CandidateTree.roots_only(roots_B)
        hidden_BD = torch.stack([self._hidden[row] for row in rows])
        guesses_KBR = self._guesses(hidden_BD, roots_B, sampling, max(shape.width for shape in shapes))
        by_shape: dict[TreeShape, list[int]] = defaultdict(list)
        for b, shape in enumerate(shapes):
            by_shape[shape].append(b)
        parts = []
        for shape, members in by_shape.items():
            mine_KBR = guesses_KBR if len(members) == len(rows) else guesses_KBR[:, members]
            tokens_EB = mine_KBR[shape.head_E, :, shape.rank_E]
            tokens_BN = torch.cat([roots_B[members][:, None], tokens_EB.T], 1)
            parts.append((members, CandidateTree.of_shape(shape, tokens_BN)))
        return CandidateTree.assembled(len(rows), parts, roots_B.device)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._hidden[row] = hidden_MD[-1]

    def stop(self, row: int) -> None:
        self._hidden.pop(row, None)

    def _guesses(self, hidden_BD: torch.Tensor, roots_B: torch.Tensor, sampling: Sequence[RowSampling], ranks: int) -> torch.Tensor:
        """Each head's best guesses in order, as ids of the whole vocabulary."""
        root_BD = self._embed(roots_B) if self.heads.config.condition_on_root else None
        logits_KBV = self._logits(hidden_BD, root_BD)
        if not all(row.params.greedy for row in sampling):
            logits_KBV = self._with_noise(logits_KBV, sampling)
        best_KBR = logits_KBV.topk(ranks, sorted=True).indices
        ids_V = self.heads.draft_ids_V
        return best_KBR if ids_V is None else ids_V[best_KBR]

    def _with_noise(self, logits_KBV: torch.Tensor, sampling: Sequence[RowSampling]) -> torch.Tensor:
        heads, _, vocab = logits_KBV.shape
        device = logits_KBV.device
        ids_V = self.heads.draft_ids_V if self.heads.draft_ids_V is not None else torch.arange(vocab, device=device)
        scores_KBV = logits_KBV.double()
        for b, row in enumerate(sampling):
            if row.params.greedy:
                continue
            first = row.prompt_length + len(row.generated)
            positions_K = torch.arange(first, first + heads, device=device)
            seeds_K = torch.full((heads,), row.seed, dtype=torch.int64, device=device)
            noise_KV = gumbel(seeds_K, positions_K, ids_V[None])
            scores_KBV[:, b] = torch.log_softmax(scores_KBV[:, b] / row.params.temperature, -1) + noise_KV
        return scores_KBV
