"""A chat endpoint on this machine that answers what a test wants."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, bytes, dict[str, str]]


def completion(text: Any, finish: str = "stop") -> Reply:
    return 200, json.dumps({"choices": [{"message": {"content": text}, "finish_reason": finish}]}).encode(), {}


class Server(ThreadingHTTPServer):
    """Answers each request with what ``reply`` makes of its number and body; keeps what it was asked."""

    daemon_threads = True

    def __init__(self, reply: Callable[[int, dict[str, Any]], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append({**body, "path": self.path})
            self.server.keys.append(self.headers.get("Authorization"))
            number = len(self.server.asked) - 1
        status, content, headers = self.server.reply(number, body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""


Serve = Callable[[Callable[[int, dict[str, Any]], Reply]], Server]
