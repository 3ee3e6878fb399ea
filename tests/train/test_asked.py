"""Answers of an endpoint that echoes: what is asked, what is kept, and what the base model then reads."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from headstart.errors import TrainingError
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.asked import Asked
from headstart.train.conversations import Given
from headstart.train.endpoint import Endpoint
from headstart.train.generation import fill, recipe_for, settle
from headstart.train.kept import Kept
from tests.train.chat_server import Reply, Serve, completion

GIVEN = [
    Given(
        f"f:{i}",
        messages=[
            {"role": "user", "content": f"one {i}"},
            {"role": "assistant", "content": "a given answer, which is not used"},
            {"role": "user", "content": f"two {i}"},
        ],
    )
    for i in range(6)
]


def echo(number: int, body: dict[str, Any]) -> Reply:
    last = body["messages"][-1]["content"]
    return completion(f"echo {last}", "length" if last == "two 1" else "stop")


def source(
    url: str, model: TransformersModel, tokenizer: Tokenizer, journal: Path, *, tries: int = 1, max_failed: int = 0
) -> Asked:
    recipe = recipe_for(model, tokenizer, seed=1, max_new_tokens=9)
    endpoint = Endpoint(url, "m", timeout=5.0, tries=tries, back_off=0.001)
    reader = Kept(model, tokenizer, GIVEN, recipe.stop_ids)
    return Asked(endpoint, reader, recipe, GIVEN, journal=journal, parallel=3, max_failed=max_failed)


@torch.no_grad()
def test_turns_follow_the_endpoints_own_answers_and_the_model_reads_them(
    serve: Serve, llama: LlamaForCausalLM, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    server = serve(echo)
    heard: list[int] = []
    groups = source(server.url, model, tokenizer, tmp_path / "a.jsonl").conversations(1, 2, heard.append)
    texts = [[tokenizer.decode(answer.ids, skip_special_tokens=False) for answer in answers] for answers in groups]
    assert texts == [
        ["echo one 1<|im_end|>", "echo two 1"],  # cut at the limit, so that its end is not learned
        ["echo one 2<|im_end|>", "echo two 2<|im_end|>"],
    ]
    assert heard == [sum(len(answer.ids) for answer in answers) for answers in groups]
    own = [GIVEN[2].messages[0], {"role": "assistant", "content": "echo one 2"}, GIVEN[2].messages[2]]  # type: ignore[index]
    second = next(asked for asked in server.asked if asked["messages"][-1]["content"] == "two 2")
    assert second["messages"] == own
    assert second["temperature"] == 0.8  # every third conversation is sampled
    assert second["max_tokens"] == 9
    answer = groups[1][1]
    assert list(answer.prompt_ids) == tokenizer.chat_ids(own)
    assert not answer.greedy  # whoever wrote it computed with other numbers
    ids = torch.tensor([[*answer.prompt_ids, *answer.ids]])
    start = len(answer.prompt_ids) - 1
    expected = llama.model(ids).last_hidden_state[0, start : start + len(answer.ids) - 1]
    torch.testing.assert_close(answer.hidden_TD, expected, atol=1e-4, rtol=1e-4)


def test_a_run_that_was_killed_asks_for_nothing_twice(
    serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    journal = tmp_path / "run" / "a.jsonl"
    server = serve(echo)
    whole = source(server.url, model, tokenizer, tmp_path / "other.jsonl").conversations(0, 6, lambda tokens: None)
    source(server.url, model, tokenizer, journal).conversations(0, 4, lambda tokens: None)
    lines = journal.read_text().splitlines()
    assert len(lines) == 4
    journal.write_text("\n".join(lines[:3]) + "\n" + lines[3][:20])  # killed while the fourth was written
    before = len(server.asked)
    again = source(server.url, model, tokenizer, journal).conversations(0, 6, lambda tokens: None)
    assert len(server.asked) - before == 2 * 3  # two turns of the cut one and of the two new ones
    assert [[list(a.ids) for a in group] for group in again] == [[list(a.ids) for a in group] for group in whole]
    assert sum(1 for line in journal.read_text().splitlines() if line.endswith("}")) == 6


def test_failures_are_counted_by_reason_up_to_a_limit(
    serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    def sometimes(number: int, body: dict[str, Any]) -> Reply:
        first = body["messages"][0]["content"]
        return {"one 0": (200, b"garbage", {}), "one 3": (400, b"too long", {})}.get(first) or echo(number, body)

    server = serve(sometimes)
    asked = source(server.url, model, tokenizer, tmp_path / "a.jsonl", tries=2, max_failed=2)
    shards = fill(tmp_path / "shards", asked, tokens=10_000, shard_size=6, metadata={})
    account = settle(shards, asked.total)
    assert (account.read, account.written) == (6, 4)
    assert account.failed == {"garbage answers": 1, "refused with 400": 1}
    assert sorted(account.named)[0].startswith("f:0: b'garbage' is no chat completion")
    with pytest.raises(TrainingError, match=r"(?s)failed at 2 rows; the first ones are:\n  f:.*same command again when it works"):
        source(server.url, model, tokenizer, tmp_path / "b.jsonl", max_failed=1).conversations(0, 6, lambda tokens: None)
    assert model.cache.rows == 0


def test_an_endpoint_that_is_not_there_ends_the_run_and_nothing_is_lost(
    serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """A shard of failures would count as finished, and none of its rows would be asked again."""

    def down(number: int, body: dict[str, Any]) -> Reply:
        return 503, b"starting", {}

    shards, journal = tmp_path / "shards", tmp_path / "a.jsonl"
    asked = source(serve(down).url, model, tokenizer, journal, max_failed=100)
    with pytest.raises(
        TrainingError, match=r"answered none of 6 conversations, asked twice; the first one: f:0: .*503.*same command again"
    ):
        fill(shards, asked, tokens=10_000, shard_size=6, metadata={})
    assert not list(shards.iterdir())
    again = source(serve(echo).url, model, tokenizer, journal, max_failed=100)
    assert settle(fill(shards, again, tokens=10_000, shard_size=6, metadata={}), again.total).written == 6

    def refuses(number: int, body: dict[str, Any]) -> Reply:
        return 400, b"too long", {}

    refused = source(serve(refuses).url, model, tokenizer, tmp_path / "b.jsonl", max_failed=100)
    account = settle(fill(tmp_path / "other", refused, tokens=10_000, shard_size=6, metadata={}), refused.total)
    assert account.failed == {"refused with 400": 6}  # asking again would not help


def test_an_endpoint_that_dies_within_a_shard_ends_the_run_as_well(
    serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """One answer and five rows that were not reached: what was answered is not asked again."""

    def dies(number: int, body: dict[str, Any]) -> Reply:
        first = body["messages"][0]["content"]
        return echo(number, body) if first == "one 0" else (503, b"gone", {})

    shards, journal = tmp_path / "shards", tmp_path / "a.jsonl"
    dying = serve(dies)
    with pytest.raises(TrainingError, match=r"answered none of 5 conversations, asked twice"):
        fill(shards, source(dying.url, model, tokenizer, journal, max_failed=100), tokens=10_000, shard_size=6, metadata={})
    server = serve(echo)
    again = source(server.url, model, tokenizer, journal, max_failed=100)
    assert settle(fill(shards, again, tokens=10_000, shard_size=6, metadata={}), again.total).written == 6
    assert len(server.asked) == 2 * 5


def test_what_failed_once_is_asked_again(serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path) -> None:
    failed: set[str] = set()

    def stumbles(number: int, body: dict[str, Any]) -> Reply:
        first = body["messages"][0]["content"]
        if first in failed:
            return echo(number, body)
        failed.add(first)
        return 503, b"busy", {}

    asked = source(serve(stumbles).url, model, tokenizer, tmp_path / "a.jsonl", max_failed=100)
    assert all(asked.conversations(0, 6, lambda tokens: None))
    assert not asked.lost


@torch.no_grad()
def test_of_several_user_messages_in_a_row_the_last_is_answered(
    serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """As by the model itself."""
    talk = [{"role": "user", "content": text} for text in ("first", "second")]
    server, recipe = serve(echo), recipe_for(model, tokenizer, seed=1, max_new_tokens=9)
    reader = Kept(model, tokenizer, [], recipe.stop_ids)
    endpoint = Endpoint(server.url, "m", timeout=5.0, tries=1, back_off=0.001)
    asked = Asked(endpoint, reader, recipe, [Given("f:1", messages=talk)], journal=tmp_path / "a.jsonl", parallel=1, max_failed=0)
    ((answer,),) = asked.conversations(0, 1, lambda tokens: None)
    assert [message["content"] for message in server.asked[0]["messages"]] == ["first", "second"]
    assert len(server.asked) == 1
    assert tokenizer.decode(answer.ids) == "echo second"


def test_the_rate_is_measured_on_answers_that_are_kept(
    serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    server = serve(echo)
    asked = source(server.url, model, tokenizer, tmp_path / "a.jsonl")
    assert asked.rate(1.0) > 0
    assert len(server.asked) == 12
    asked.conversations(0, 6, lambda tokens: None)
    assert len(server.asked) == 12


def test_a_full_disk_keeps_what_was_answered(serve: Serve, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The journal may grow to some lines and then no more; another run goes on with those."""
    server, journal = serve(echo), tmp_path / "a.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises(TrainingError, match=r"cannot write .*a.jsonl.*--resume"):
            source(server.url, model, tokenizer, journal).conversations(0, 6, lambda tokens: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    kept = len([line for line in journal.read_text().splitlines() if line.endswith("}]}")])
    assert 0 < kept < 6
    other = serve(echo)  # the first may still be asked by a thread that had begun
    source(other.url, model, tokenizer, journal).conversations(0, 6, lambda tokens: None)
    assert len(other.asked) == 2 * (6 - kept)
    assert all(json.loads(line)["key"] for line in journal.read_text().splitlines() if line.endswith("}]}"))
