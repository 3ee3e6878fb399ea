import socket
import threading
from typing import Any

import pytest

from headstart.errors import TrainingError
from headstart.train.endpoint import Endpoint, NoAnswer, Said
from tests.train.chat_server import Reply, Serve, completion

MESSAGES = [{"role": "user", "content": "Hi"}]


def ask(url: str, **options: Any) -> Said:
    endpoint = Endpoint(url, "m", **{"back_off": 0.001, "timeout": 5.0, "tries": 3, **options})
    return endpoint.ask(MESSAGES, temperature=0.0, max_tokens=7, seed=1 << 40 | 5)


def test_a_request_and_its_answer(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    server = serve(lambda number, body: completion("Hello", "length"))
    assert ask(server.url + "/", key_variable="MY_KEY") == Said("Hello", cut=True)
    assert server.asked == [
        {"model": "m", "messages": MESSAGES, "temperature": 0.0, "max_tokens": 7, "seed": 5, "path": "/v1/chat/completions"}
    ]
    assert server.keys == ["Bearer secret"]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ((503, b"busy", {}), "endpoint answered 503"),
        ((429, b"slow down", {"Retry-After": "0.01"}), "endpoint answered 429"),
        ((200, b"<html>", {}), "garbage answers"),
        ((200, b"[]", {}), "garbage answers"),
        ((200, b'{"choices": []}', {}), "garbage answers"),
        ((200, b'{"choices": [{"message": {"content": "\\ud800"}}]}', {}), "garbage answers"),
        (completion(None), "garbage answers"),
        (completion("  "), "garbage answers"),
    ],
)
def test_what_may_pass_is_tried_again_and_then_counted_by_its_reason(serve: Serve, first: Reply, reason: str) -> None:
    assert ask(serve(lambda number, body: first if number < 2 else completion("late")).url) == Said("late", cut=False)
    server = serve(lambda number, body: first)
    with pytest.raises(NoAnswer, match=r"3 tries") as caught:
        ask(server.url)
    assert caught.value.reason == reason
    assert len(server.asked) == 3


def test_a_time_out_and_a_dead_endpoint(serve: Serve) -> None:
    release = threading.Event()

    def hang(number: int, body: dict[str, Any]) -> Reply:
        release.wait(10)
        return completion("too late")

    with pytest.raises(NoAnswer, match=r"no answer within 0.05 seconds") as caught:
        ask(serve(hang).url, timeout=0.05, tries=2)
    release.set()
    assert caught.value.reason == "timed out"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens there
        with pytest.raises(NoAnswer) as caught:
            ask(f"http://127.0.0.1:{free.getsockname()[1]}/v1", tries=1)
    assert caught.value.reason == "endpoint not reached"


@pytest.mark.parametrize("reply", [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"SSH-2.0-OpenSSH\r\n", b""])
def test_a_reply_that_breaks_off_or_is_no_http(reply: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(NoAnswer, match="2 tries") as caught:
            ask(f"http://127.0.0.1:{server.getsockname()[1]}/v1", tries=2)
        thread.join()
    assert caught.value.reason == "endpoint not reached"


def test_an_answer_that_trickles_in_has_no_more_time_than_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        release = threading.Event()

        def trickle() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not release.wait(0.02):  # always sooner than the socket's time-out
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return

        thread = threading.Thread(target=trickle)
        thread.start()
        with pytest.raises(NoAnswer, match=r"no answer within 0.2 seconds") as caught:
            ask(f"http://127.0.0.1:{server.getsockname()[1]}/v1", timeout=0.2, tries=1)
        release.set()
        thread.join()
    assert caught.value.reason == "timed out"


def test_a_request_that_is_refused_is_not_repeated(serve: Serve) -> None:
    server = serve(lambda number, body: (400, b"context too long", {}))
    with pytest.raises(NoAnswer, match="400 context too long"):
        ask(server.url)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 401, 403, 404])
def test_what_no_request_can_pass_ends_the_run(serve: Serve, status: int) -> None:
    with pytest.raises(TrainingError, match=rf"refuses every request: .*{status} no.*'m'.*--api-key-env"):
        ask(serve(lambda number, body: (status, b"no", {})).url)


def test_mistakes_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(TrainingError, match="NO_SUCH_KEY is not set"):
        Endpoint("http://host/v1", "m", key_variable="NO_SUCH_KEY")
    with pytest.raises(TrainingError, match="expected a URL"):
        Endpoint("file:///etc/passwd", "m")
