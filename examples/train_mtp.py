"""Trains a small language model that predicts four tokens at once and its twin that predicts one; the first drafts for itself.

    python examples/train_mtp.py --output my-mtp                    # on the source code of Python's standard library
    python examples/train_mtp.py --output my-mtp --text book.txt notes/
    headstart generate my-mtp/four "def main("

Both models are the same: a small Llama with a tokenizer learned from the text. The first one is trained with three more heads
beside its last layer. ``--equal tokens`` gives the twin the same tokens; ``--equal compute`` as many as it can read in the same
number of operations, since further heads cost some. It needs no network, and takes some minutes on two CPU cores.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from headstart.errors import HeadstartError
from headstart.models.threads import cpu_threads
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.result import MtpResult
from headstart.train.mtp.run import train_mtp


def main() -> int:
    """Train both and print a table; returns the exit code."""
    arguments = _parser().parse_args()
    options = MtpOptions(text=tuple(arguments.text), heads=arguments.heads, tokens=arguments.tokens, seed=arguments.seed)
    try:
        with cpu_threads(arguments.threads):
            results = {"four": train_mtp(arguments.output / "four", options=options)}
            if arguments.equal != "no":
                first = results["four"]
                tokens = first.equal_compute_tokens if arguments.equal == "compute" else options.tokens
                results["one"] = train_mtp(arguments.output / "one", options=replace(options, heads=1, tokens=tokens))
    except HeadstartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    record = {name: result.to_dict() for name, result in results.items()}
    (arguments.output / "results.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    for name, result in results.items():
        _show(name, result)
    return 0


def _show(name: str, result: MtpResult) -> None:
    known = result.held_out
    print(f"\n{name}: {result.tokens:,} tokens, {result.operations:.3g} operations, {result.seconds:,.0f} s")
    for n, (nats, top) in enumerate(zip(known.nats_N, known.top_N, strict=True), 1):
        print(f"  head {n}: held-out loss {nats:.3f} nats, first guess right {top:.1%} (n = {known.positions:,})")
    for found in result.measured:
        print(f"  {found.line}")
    if result.on_true_text:
        each = ", ".join(f"{tokens:.2f} at {nodes} nodes" for nodes, tokens in result.on_true_text.items())
        print(f"  tokens per step, were it to write the held-out text: {each}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="where the two models go")
    parser.add_argument("--text", type=Path, nargs="*", default=[], help="text files or directories of them")
    parser.add_argument("--heads", type=int, default=4, help="tokens that are predicted at once")
    parser.add_argument("--tokens", type=int, default=MtpOptions.tokens, help="tokens to train the first model on")
    parser.add_argument(
        "--equal", choices=("tokens", "compute", "no"), default="tokens", help="what the twin has in common with it"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=None, help="CPU threads; as many as there are cores by default")
    return parser


if __name__ == "__main__":
    sys.exit(main())
