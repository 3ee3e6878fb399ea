"""What ``headstart inspect --speed`` looks at."""

from headstart.cli.speed_page import nodes_to_profile
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.llm import LLM
from tests.tiny_models import alphabet_heads, alphabet_model, native


def test_trees_of_the_size_that_decoding_begins_with() -> None:
    """Steps with trees turned out to take ten times as long, so that texts are decoded plainly by now."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    known = HeadsDirectory(heads.heads, heads.tree, nodes=3, counts={(0,): 90, (0, 0): 80}, total=100)
    llm = LLM(model, None, heads=known)
    budget = llm.engine.budget("medusa")
    for _ in range(40):
        nodes = budget.nodes(1)
        budget.observe(1, nodes, [0], 0.1 if nodes > 1 else 0.01, nodes)
    assert budget.nodes(1, observed=False) == 1
    assert nodes_to_profile(llm, "medusa") == 3


def test_others_keep_what_they_have() -> None:
    """n-grams beside heads their price, which a stated size would take away; fixed sizes and plain decoding need no saying."""
    model = native(alphabet_model())
    llm = LLM(model, None, heads=alphabet_heads(model))
    assert [nodes_to_profile(llm, drafter) for drafter in ("ngram", "medusa", "none")] == [None, None, None]
    assert llm.engine.budget("ngram").price(1) > 0
