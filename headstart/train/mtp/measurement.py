"""Self-speculation, measured: texts written plainly and with the model's own heads."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.completion import Stats
from headstart.llm import LLM

SIZES = (4, 8, 16)
"""Trees that are measured, the root included."""
_SEED = 1


@dataclass(frozen=True)
class Measured:
    """Texts of the model's own, each from a piece of held-out text, written with its heads."""

    temperature: float
    tokens_per_step: dict[int, float]
    """By tree size: tokens after the first of each text over verify passes, all texts together."""
    accepted_per_depth: list[float]
    """With the middle size: the share of steps that accepted at least so many guesses."""
    texts: int
    written: int
    """Tokens of all texts together."""
    distinct: float
    """Share of runs of four tokens that are not the same as one before in their text: how little the model repeats itself."""
    same: int
    """Texts that have the same ids as plain decoding, with every size; all of them, or something is wrong."""

    @property
    def line(self) -> str:
        each = ", ".join(f"{tokens:.2f} at {nodes} nodes" for nodes, tokens in self.tokens_per_step.items())
        return (
            f"tokens per step at temperature {self.temperature:g}: {each} ({self.texts} texts, {self.written:,} tokens,"
            f" {self.distinct:.0%} of runs of four new; {self.same} of {self.texts} as without heads)"
        )


def own_texts(
    llm: LLM, prompts: Sequence[Sequence[int]], new_tokens: int, temperature: float, drafter: str = "none", nodes: int | None = None
) -> tuple[list[list[int]], list[Stats]]:
    """What the model writes after each prompt, past the end of a document; and how it did."""
    outs = llm.generate(
        [list(prompt) for prompt in prompts],
        max_new_tokens=new_tokens,
        ignore_eos=True,
        temperature=temperature,
        seed=_SEED,
        drafter=drafter,
        nodes=nodes,
    )
    return [list(out.token_ids) for out in outs], [out.stats for out in outs]


def measured(llm: LLM, prompts: Sequence[Sequence[int]], new_tokens: int, temperature: float) -> Measured:
    """Write texts plainly, and again with the drafter that ``llm`` was given, in trees of several sizes."""
    plain, _ = own_texts(llm, prompts, new_tokens, temperature)
    tokens_per_step: dict[int, float] = {}
    same = [True] * len(plain)
    accepted: list[float] = []
    for nodes in SIZES:
        texts, stats = own_texts(llm, prompts, new_tokens, temperature, llm.drafter, nodes)
        steps = max(1, sum(each.steps for each in stats))
        tokens_per_step[nodes] = sum(each.emitted_tokens - 1 for each in stats) / steps
        same = [before and text == true for before, text, true in zip(same, texts, plain, strict=True)]
        if nodes == SIZES[len(SIZES) // 2]:
            depths = max(len(each.accepted_per_depth) for each in stats)
            accepted = [sum(sum(each.accepted_per_depth[d : d + 1]) for each in stats) / steps for d in range(depths)]
    return Measured(temperature, tokens_per_step, accepted, len(plain), sum(map(len, plain)), _distinct(plain), sum(same))


def _distinct(texts: Sequence[Sequence[int]], run: int = 4) -> float:
    runs = [[tuple(text[i : i + run]) for i in range(len(text) - run + 1)] for text in texts]
    return sum(len(set(each)) for each in runs) / max(1, sum(map(len, runs)))
