"""What ``headstart inspect`` says of a loaded base model."""

from dataclasses import asdict
from typing import Any

from headstart.llm import LLM
from headstart.models.bit_check import BitCheck, bitwise_holds
from headstart.models.conditions import Conditions
from headstart.tuning.pass_bytes import pass_bytes


def model_record(llm: LLM) -> dict[str, Any]:
    """Facts, bytes, and whether equal bits hold here, ready for JSON. Takes about a hundred passes; the LLM must be idle."""
    facts, size, check = llm.model.facts, pass_bytes(llm.model), bitwise_holds(llm.model)
    return {
        **Conditions.of(llm.model).to_dict(),
        "vocab_size": facts.vocab_size,
        "hidden_size": facts.hidden_size,
        "context_length": facts.context_length,
        "eos_ids": list(facts.eos_ids),
        "weight_bytes_per_pass": size.weights,
        "cache_bytes_per_position": size.cache_per_position,
        "bit_check": {**asdict(check), "holds": check.holds},
    }


def model_page(record: dict[str, Any]) -> list[str]:
    """The same in lines for people."""
    weights = f", weights in {record['weights']}" if record["weights"] else ""
    facts = {
        "model": record["model"],
        "decoder": f"{record['implementation']}, {record['dtype']}{weights}, {record['device']} ({record['processor']})",
        "threads": f"{record['threads']}, torch {record['torch']}",
        "context": f"{record['context_length']:,} positions, {record['cache_bytes_per_position']:,} bytes of cache each",
        "size": f"{record['vocab_size']:,} tokens, hidden size {record['hidden_size']:,}",
        "weights": f"{record['weight_bytes_per_pass'] / 1e6:,.1f} MB read by a pass",
        "equal bits": _bits(record),
    }
    return [f"{name:<12}{value}" for name, value in facts.items()]


def _bits(record: dict[str, Any]) -> str:
    check = BitCheck(record["bit_check"]["rows"], record["bit_check"]["unequal"])
    counted = f"{check.unequal} of {check.rows} rows of logits differ from plain decoding's"
    if record["bitwise"]:
        return f"asked for, and {'they hold' if check.holds else 'they do NOT hold on this machine'}: {counted}"
    return f"not asked for or not offered here: {counted}"
