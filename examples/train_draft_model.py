"""Trains a small draft model for a base model of the Llama family, by distillation from what the base model has written.

    headstart train bundled --output my-heads --minutes 60            # leaves its conversations in my-heads/run/shards
    python examples/train_draft_model.py bundled --shards my-heads/run/shards --output my-draft --minutes 20
    headstart generate bundled "Why is the sky blue?" --chat --draft-model my-draft

The draft model is the base model with most of its layers left out. Embeddings, final norm and LM head are the base model's; the
former and the latter stay as they are. The layers that are left learn to end up where the base model would: the target of each
token is the base model's own distribution (from its recorded hidden states) mixed with the token that it chose.

Shapes: B sequences, T positions, M answer tokens of a batch, V vocabulary, D hidden.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from headstart.errors import DataError, HeadstartError, InvalidParameterError, TrainingError, UnsupportedModelError
from headstart.models.dtype import training_dtype
from headstart.models.loading import load_model
from headstart.models.protocol import BaseModel
from headstart.models.source import find, load_pretrained
from headstart.train.draft_vocab import frequent_ids, lookup_table
from headstart.train.held_out import held_out
from headstart.train.loss import loss_and_gradient
from headstart.train.output_matrix import OutputMatrix, shared_matrix
from headstart.train.recorded import Recorded
from headstart.train.schedule import learning_rate
from headstart.train.shards import Shard
from headstart.train.teacher import Teacher
from headstart.train.vocab_sample import VocabSampler

HELD_OUT_SHARE, HELD_OUT_LEAST = 0.01, 8
FREQUENT = 8192  # tokens that every step's softmax runs over; a sample stands for the others
CHAIN = 4  # guesses in a row, for the predicted tokens per step


@dataclass(frozen=True)
class Text:
    """A prompt and the base model's answer to it."""

    ids_T: torch.Tensor
    prompt: int
    """Ids of the prompt."""
    hidden_MD: torch.Tensor
    """The base model's states that predicted the answer's ids, all but the last."""
    conversation: int
    greedy: bool

    @property
    def labels_M(self) -> torch.Tensor:
        return self.ids_T[self.prompt :]


@dataclass(frozen=True)
class Accuracy:
    """Figures on answers that were kept aside; greedy ones, since there the next token is known."""

    tokens: int
    top_1: float
    top_3: float
    chain: float
    """Tokens per step that a chain of ``CHAIN`` guesses would give on these answers, decoded step by step."""
    steps: int


def read_texts(shards: Sequence[Shard]) -> list[Text]:
    texts = []
    for shard in shards:
        for place in shard.places():
            prompt = shard.prompt_tokens[place.prompt]
            ids_T = torch.cat([prompt, shard.tokens[place.answer]]).to(torch.int64)
            texts.append(Text(ids_T, len(prompt), shard.hidden_SD[place.states], place.conversation, place.greedy))
    return texts


def cut_model(base: Any, layers: int) -> Any:
    """The base model with ``layers`` of its layers, the first ones and the last, in float32.

    Raises:
        UnsupportedModelError: the model is not built like a Llama.
        InvalidParameterError: it does not have so many layers.
    """
    if not hasattr(getattr(base, "model", None), "layers") or not hasattr(base, "lm_head"):
        raise UnsupportedModelError(f"{type(base).__name__} is not built like a Llama; this script cuts model.layers")
    deep = len(base.model.layers)
    if not 2 <= layers < deep:
        raise InvalidParameterError(f"layers is {layers}; expected 2 to {deep - 1}, fewer than the model has")
    kept = [*range(layers - 1), deep - 1]
    settings = base.config.to_dict()
    settings["num_hidden_layers"] = layers
    for name, value in settings.items():  # settings of single layers, such as layer_types
        if isinstance(value, list) and len(value) == deep:
            settings[name] = [value[i] for i in kept]
    for name in ("dtype", "transformers_version", "_name_or_path", "_model_name_or_path"):
        settings.pop(name, None)
    draft: Any = AutoModelForCausalLM.from_config(type(base.config)(**settings), dtype=torch.float32)
    state = {}
    for name, tensor in base.state_dict().items():
        if name.startswith("model.layers."):
            number, rest = name.removeprefix("model.layers.").split(".", 1)
            if int(number) in kept:
                state[f"model.layers.{kept.index(int(number))}.{rest}"] = tensor.float()
        else:
            state[name] = tensor.float()
    draft.load_state_dict(state)
    draft.generation_config = base.generation_config
    draft.requires_grad_(False)
    for part in (draft.model.layers, draft.model.norm):
        part.requires_grad_(True)
    return draft


class Distillation:
    """The draft model, the base model's LM head, and what a step needs."""

    def __init__(self, draft: Any, base: BaseModel, texts: Sequence[Text], *, soft: float, peak: float, seed: int) -> None:
        self.draft = draft
        self.device = base.facts.device
        self.dtype = training_dtype(self.device)
        self.head = shared_matrix(base, None, self.dtype)
        self._soft, self._peak = soft, peak
        vocab = base.facts.vocab_size
        ids_V = frequent_ids([text.labels_M for text in texts], [text.ids_T for text in texts], vocab, vocab)
        self._sampler = VocabSampler(ids_V, seed, frequent=FREQUENT)
        self._table = lookup_table(None, vocab)
        learning = [parameter for parameter in draft.parameters() if parameter.requires_grad]
        matrices, vectors = [p for p in learning if p.dim() > 1], [p for p in learning if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
        self._optimizer = torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.95), fused=True)

    def states(self, texts: Sequence[Text]) -> torch.Tensor:
        """The draft model's states that predict the answers' ids, M x D, text after text."""
        ids_BT = torch.zeros((len(texts), max(len(text.ids_T) for text in texts)), dtype=torch.int64)
        for b, text in enumerate(texts):
            ids_BT[b, : len(text.ids_T)] = text.ids_T
        reduced = self.dtype != torch.float32
        with torch.autocast(self.device.type, self.dtype) if reduced else nullcontext():
            # what fills a row up stands behind its text, where a causal model does not look
            hidden_BTD = self.draft.model(input_ids=ids_BT.to(self.device), use_cache=False).last_hidden_state
        parts = [hidden_TD[text.prompt - 1 : len(text.ids_T) - 1] for text, hidden_TD in zip(texts, hidden_BTD, strict=True)]
        return torch.cat(parts).to(self.dtype)

    def step(self, number: int, share: float, texts: Sequence[Text]) -> float:
        """One step at ``share`` (0 to 1) of the run; returns the mean of -log q(token) in nats.

        Raises:
            TrainingError: the loss is not finite.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(int(share * 1000), 1000, self._peak)
        labels_1M = self._table[torch.cat([text.labels_M for text in texts])][None]
        part = self._sampler.part(number, labels_1M)
        states_MD = self.states(texts)
        known = [torch.arange(len(text.labels_M)) < len(text.hidden_MD) for text in texts]
        deciding = [torch.cat([text.hidden_MD, torch.zeros_like(text.hidden_MD[:1])]) for text in texts]
        matrix = self.head.part(part.index_S)
        teacher = Teacher(
            matrix=matrix,
            states_KBD=torch.cat(deciding).to(self.device, self.dtype)[None],
            known_KB=torch.cat(known).to(self.device)[None],
            weight=self._soft,
        )
        labels_1M = part.labels_KB.to(self.device)
        soft = teacher if self._soft else None
        parts = loss_and_gradient(states_MD.detach()[None], labels_1M, matrix, None, part.log_weight_S, soft)
        states_MD.backward(parts.grad_KBD[0])
        norm = float(torch.nn.utils.clip_grad_norm_(self.draft.parameters(), 1.0))
        if not (parts.loss < float("inf") and norm < float("inf")):
            raise TrainingError(f"step {number + 1}: loss {parts.loss}, gradient {norm}; expected finite numbers. Lower --lr")
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return parts.loss

    @torch.no_grad()
    def accuracy(self, texts: Sequence[Text]) -> Accuracy:
        tokens = top_1 = top_3 = emitted = steps = 0
        for text in texts:
            if not text.greedy:
                continue
            best_M3 = _logits(self.head, self.states([text])).topk(3).indices.cpu()
            right_M3 = best_M3 == text.labels_M[:, None]
            tokens, top_1, top_3 = tokens + len(right_M3), top_1 + int(right_M3[:, 0].sum()), top_3 + int(right_M3.sum())
            at, hits = 1, right_M3[:, 0].tolist()  # the first token comes from the prompt's pass
            while at < len(hits):
                run = next((i for i, hit in enumerate(hits[at : at + CHAIN]) if not hit), min(CHAIN, len(hits) - at))
                at, steps, emitted = at + run + 1, steps + 1, emitted + min(run + 1, len(hits) - at)
        if not steps:
            raise DataError("no greedy answer of two tokens was kept aside, so there is nothing to measure; give more shards")
        return Accuracy(tokens, top_1 / tokens, top_3 / tokens, emitted / steps, steps)


def _logits(matrix: OutputMatrix, states_MD: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.linear(states_MD, matrix.weight_VD, matrix.bias_V)


def batches(texts: Sequence[Text], size: int, generator: torch.Generator) -> list[list[Text]]:
    """An epoch's batches in random order, each of texts of about one length."""
    order = torch.randperm(len(texts), generator=generator).tolist()
    window = 16 * size
    near: list[int] = []
    for start in range(0, len(order), window):
        near += sorted(order[start : start + window], key=lambda i: len(texts[i].ids_T))
    cut = [[texts[i] for i in near[start : start + size]] for start in range(0, len(near), size)]
    return [cut[i] for i in torch.randperm(len(cut), generator=generator).tolist()]


def save(draft: Any, tokenizer: Any, dtype: torch.dtype, output: Path, facts: dict[str, Any]) -> None:
    """Write the directory beside its place, then rename it: it is whole or not there."""
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        draft.to(dtype).save_pretrained(temporary)
        if tokenizer is not None:
            tokenizer.save_pretrained(temporary)
        (temporary / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
        temporary.chmod(0o755)
        if output.exists():
            shutil.rmtree(output)
        temporary.rename(output)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def train(options: argparse.Namespace) -> dict[str, Any]:
    """Returns what was trained and measured, as it is written to ``training.json``."""
    begun = time.perf_counter()
    if options.output.exists() and not options.overwrite:
        raise TrainingError(f"{options.output} exists; choose another --output, or give --overwrite")
    torch.manual_seed(options.seed)
    base, tokenizer = load_model(options.model)
    texts = read_texts([shard for place in options.shards for shard in Recorded(place, base, "disk").shards])
    pretrained, _, _ = load_pretrained(find(options.model), "float32", base.facts.device)
    draft = cut_model(pretrained, options.layers).to(base.facts.device)
    del pretrained
    aside = held_out(sorted({text.conversation for text in texts}), HELD_OUT_SHARE, HELD_OUT_LEAST)
    kept = [text for text in texts if text.conversation in aside]
    learnt = [text for text in texts if text.conversation not in aside and len(text.labels_M) > 1]
    run = Distillation(draft, base, learnt, soft=options.soft_targets, peak=options.lr, seed=options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    seen = step = 0
    share, losses, todo = 0.0, [], []
    limit = options.minutes * 60
    print(f"{len(learnt):,} answers to learn from, {len(kept):,} kept aside; before: {run.accuracy(kept)}", file=sys.stderr)
    started = time.perf_counter()
    while share < 1.0:
        todo = todo or batches(learnt, options.batch, generator)
        batch = todo.pop()
        losses.append(run.step(step, share, batch))
        step, seen = step + 1, seen + sum(len(text.labels_M) for text in batch)
        share = step / options.steps if options.steps else (time.perf_counter() - started) / limit
        if step % 50 == 0 or share >= 1.0:
            recent = losses[-50:]
            rate = seen / (time.perf_counter() - started)
            print(f"{share:4.0%} step {step:,} loss {sum(recent) / len(recent):.3f} nats, {rate:,.0f} tokens/s", file=sys.stderr)
    result = run.accuracy(kept)
    facts = {
        "base_model": base.facts.name,
        "layers": options.layers,
        "answers": len(learnt),
        "answer_tokens_seen": seen,
        "steps": step,
        "batch": options.batch,
        "lr": options.lr,
        "soft_targets": options.soft_targets,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - begun, 1),
        "parameters": sum(p.numel() for p in draft.parameters()),
        "held_out": {**vars(result), "chain_of": CHAIN, "answers": sum(text.greedy for text in kept)},
    }
    save(draft, tokenizer, base.facts.dtype, options.output, facts)
    return facts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("model", help='a hub id, a directory, or "bundled"')
    parser.add_argument("--shards", type=Path, nargs="+", required=True, help="what `headstart train` leaves in OUTPUT/run/shards")
    parser.add_argument("--output", type=Path, required=True, help="directory of the draft model")
    parser.add_argument("--overwrite", action="store_true", help="replace the output directory once the new one is whole")
    parser.add_argument("--layers", type=int, default=3, help="layers to keep")
    parser.add_argument("--minutes", type=float, default=20.0, help="how long to train")
    parser.add_argument("--steps", type=int, help="train for so many steps instead")
    parser.add_argument("--batch", type=int, default=8, help="answers a step")
    parser.add_argument("--lr", type=float, default=2e-3, help="peak learning rate")
    parser.add_argument("--soft-targets", type=float, default=0.8, help="the distribution's part of the target, 0 to 1")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="CPU threads")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for name in ("layers", "minutes", "steps", "batch", "threads"):
        if (value := getattr(options, name)) is not None and not 0 < value < float("inf"):
            parser.error(f"--{name} is {value}; expected more than 0")
    torch.set_num_threads(options.threads)
    try:
        print(json.dumps(train(options)))
    except HeadstartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
