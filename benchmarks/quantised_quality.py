"""What rounding the weights costs in quality: a model's own greedy answers, judged by the same model with 8 and with 4 bits.

    python benchmarks/quantised_quality.py --prompts question.jsonl --limit 20 --output benchmarks/results/quantised_quality.json

``--prompts`` takes Spec-Bench's ``question.jsonl`` (first turns). The unrounded model answers each question greedily; every format
then reads the answers, token by token, and is asked for each next token. The last line printed is one JSON object.
"""

import argparse
import json
import math
import platform
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import headstart
from headstart.models.dtype import dtype_name
from headstart.models.protocol import BaseModel


def read_prompts(path: Path, limit: int) -> list[str]:
    """First turns, spread over the file so that every category is there."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    step = max(1.0, len(rows) / limit)
    return [rows[int(i * step)]["turns"][0] for i in range(min(limit, len(rows)))]


@torch.inference_mode()
def log_probs(model: BaseModel, prompt: list[int], answer: list[int]) -> torch.Tensor:
    """Of every token of the vocabulary at each of the answer's T positions, T x V, in float32."""
    ids = [*prompt, *answer]
    model.cache.add_row(len(ids))
    try:
        hidden_BTD = model.prefill(torch.tensor([ids]), 0, [len(ids)])
        return F.log_softmax(model.lm_head(hidden_BTD[0, len(prompt) - 1 : -1]).float(), -1)
    finally:
        model.cache.clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--weights", nargs="+", default=["int8", "int4"])
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()

    llm = headstart.load(args.model, heads=None, drafter="none", device="cpu")
    assert llm.tokenizer is not None, "questions are text"
    prompts = [llm.tokenizer.chat_ids([{"role": "user", "content": text}]) for text in read_prompts(args.prompts, args.limit)]
    answers = []
    for done, prompt in enumerate(prompts, 1):
        answers.append(list(llm.generate(list(prompt), max_new_tokens=args.max_new_tokens).token_ids))
        print(f"{done}/{len(prompts)} answered", file=sys.stderr, flush=True)

    totals: dict[str, dict[str, float]] = {}
    loaded = {
        "none": llm,
        **{name: headstart.load(args.model, heads=None, drafter="none", device="cpu", weights=name) for name in args.weights},
    }
    for prompt, answer in zip(prompts, answers, strict=True):
        judged = {name: log_probs(one.model, list(prompt), answer) for name, one in loaded.items()}
        own_TV, tokens_T = judged["none"], torch.tensor(answer)
        for name, log_TV in judged.items():
            total = totals.setdefault(name, {"nll": 0.0, "kl": 0.0, "agree": 0, "texts": 0})
            total["nll"] -= float(log_TV.gather(1, tokens_T[:, None]).sum())
            total["kl"] += float((own_TV.exp() * (own_TV - log_TV)).sum())
            total["agree"] += int((log_TV.argmax(-1) == tokens_T).sum())
            total["texts"] += int(bool((log_TV.argmax(-1) == tokens_T).all()))
    record = report(args, totals, loaded, sum(map(len, answers)))
    print(json.dumps(record), flush=True)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def report(args: argparse.Namespace, totals: dict[str, dict[str, float]], loaded: dict[str, Any], tokens: int) -> dict[str, Any]:
    formats = {
        name: {
            "perplexity": round(math.exp(total["nll"] / tokens), 4),
            "kl_nats_per_token": round(total["kl"] / tokens, 5),
            "same_greedy_token": round(total["agree"] / tokens, 4),
            "whole_answers_same": int(total["texts"]),
            "weight_bytes": loaded[name].model.weight_bytes,
        }
        for name, total in totals.items()
    }
    return {
        "benchmark": "quantised_quality",
        "command": " ".join(Path(word).name for word in sys.argv),
        "model": args.model,
        "answers": len(read_prompts(args.prompts, args.limit)),
        "answer_tokens": tokens,
        "dtype": dtype_name(loaded["none"].model.facts.dtype),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "torch": torch.__version__,
            "headstart": headstart.__version__,
        },
        "formats": formats,
    }


if __name__ == "__main__":
    main()
