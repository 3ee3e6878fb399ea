"""A tiny model, heads for it, and recorded answers of its own, all on disk."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM

from headstart.drafters.base_check import base_sample
from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.shards import Answer, shard_path, write_shard
from headstart.trees.shape import TreeShape

CONVERSATIONS, PROMPT, ANSWER = 24, 6, 12


@dataclass(frozen=True)
class Place:
    """Where everything lies."""

    model: str
    heads: str
    shards: Path


@torch.no_grad()
def own_answers(llama: LlamaForCausalLM, first: int, count: int) -> list[list[Answer]]:
    """Greedy answers and the states that they were chosen from, by transformers alone."""
    generator = torch.Generator().manual_seed(first)
    found = []
    for _ in range(count):
        prompt = torch.randint(0, 256, (1, PROMPT), generator=generator)
        ids = llama.generate(prompt, max_new_tokens=ANSWER, do_sample=False, eos_token_id=999, pad_token_id=0)
        states_TD = llama.model(ids).last_hidden_state[0]
        answer = ids[0, PROMPT:].tolist()
        hidden_TD = states_TD[PROMPT - 1 : PROMPT - 1 + len(answer) - 1].clone()
        found.append([Answer(prompt[0].tolist(), answer, hidden_TD, True, "test")])
    return found


@pytest.fixture(scope="session")
def place(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("joint")
    llama.save_pretrained(root / "model")
    tokenizer.hf.save_pretrained(root / "model")
    torch.manual_seed(1)
    heads = MedusaHeads(HeadsConfig(hidden_size=32, vocab_size=260, num_heads=2, base_model="tiny"))
    base = TransformersModel(llama, name="tiny", max_rows=1, cache_tokens=64)
    tree = TreeShape([(0,), (0, 0)])
    HeadsDirectory(heads, tree, base_check=base_sample(base)).save_pretrained(root / "heads")
    shards = root / "heads" / "run" / "shards"
    shards.mkdir(parents=True)
    half = CONVERSATIONS // 2
    for number in range(2):
        write_shard(shard_path(shards, number), number * half, own_answers(llama, number * half, half), {})
    return Place(str(root / "model"), str(root / "heads"), shards)
