"""Real prompts for the long proofs: a file of questions whose path comes from outside, since the package ships none."""

import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def questions() -> list[str]:
    """First turns of the file that HEADSTART_PROMPTS names: JSON lines with a list ``turns``, as Spec-Bench has them."""
    path = os.environ.get("HEADSTART_PROMPTS")
    if not path:
        pytest.skip(
            "HEADSTART_PROMPTS is not set; make test-full PROMPTS=question.jsonl names a file of prompts (Spec-Bench's, say)"
        )
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["turns"][0] for line in lines if line.strip()]
