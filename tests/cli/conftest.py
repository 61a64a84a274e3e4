"""A console that answers what a test says, over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

PROBLEM = {"resource": "group g", "kind": "x", "code": "X", "code_number": None, "message": "No.", "retriable": False}


class FakeConsole:
    """`answers` by method and path: status and body (JSON, or bytes as they are); `asked` is what came."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {}
        self.asked: list[dict[str, Any]] = []
        self.broken = 0
        self.url = ""

    def says(self, method: str, path: str, body: Any, status: int = 200) -> None:
        self.answers[method, path] = (status, body)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeConsole]:
    for name in ("KAAS_URL", "KAAS_TOKEN", "KAAS_CLUSTER", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    fake = FakeConsole()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = {"method": self.command, "path": path, "query": query, "body": json.loads(body) if body else None}
            fake.asked.append({**asked, "headers": dict(self.headers)})
            if fake.broken:
                fake.broken -= 1
                self.close_connection = True
                return
            status, answer = fake.answers.get((self.command, path), (404, PROBLEM))
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status == 302:
                self.send_header("Location", "/login/")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 - names that http.server calls

        def log_message(self, *_: Any) -> None:
            """Nothing: a test says what it asked."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield fake
        server.shutdown()
        thread.join()


def listing(*items: Any, errors: Any = (), total: int | None = None) -> dict[str, Any]:
    """A list as the API answers it."""
    return {"items": list(items), "errors": list(errors), "total": len(items) if total is None else total, "page": 1}
