"""A schema registry over real HTTP, for tests: as much of Confluent's interface as the console asks for.

Job: schemas by id and by subject and version; answers that are late, broken, huge or missing where a test wants them.
Rules: Protobuf is served as a FileDescriptorProto in base64, as `format=serialized` asks for.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class RegistryServer:
    """`with RegistryServer() as registry: ...registry.url...`

    `asked` has the paths in their order; `broken` answers (status, body) for every path while it is set; `held` lets every
    answer wait until it is set.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []
        self.broken: tuple[int, bytes] | None = None
        self.held = threading.Event()
        self.held.set()
        self._answers: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.held.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def register(
        self,
        schema_id: int,
        schema: str,
        kind: str | None = None,
        subject: str = "s-value",
        version: int = 1,
        references: tuple[tuple[str, str, int], ...] = (),
    ) -> None:
        """A schema; `references` are (name, subject, version). Without a kind it is Avro, as the registry says it."""
        answer: dict[str, Any] = {"schema": schema}
        if kind is not None:
            answer["schemaType"] = kind
        if references:
            answer["references"] = [dict(zip(("name", "subject", "version"), row, strict=True)) for row in references]
        self._answers[f"/schemas/ids/{schema_id}"] = answer
        self._answers[f"/subjects/{subject}/versions/{version}"] = {**answer, "id": schema_id, "subject": subject}

    def answer(self, path: str) -> tuple[int, bytes]:
        """Status and body for a path."""
        self.held.wait(30)
        if self.broken is not None:
            return self.broken
        found = self._answers.get(path)
        if found is None:
            return 404, json.dumps({"error_code": 40403, "message": "Schema not found"}).encode()
        return 200, json.dumps(found).encode()


def _handler(registry: RegistryServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            registry.asked.append(path)
            registry.authorizations.append(self.headers.get("Authorization"))
            status, body = registry.answer(path)
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if status in (301, 302):
                    self.send_header("Location", registry.url)
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            """Says nothing."""

    return Handler


def framed(schema_id: int, body: bytes) -> bytes:
    """A value in Confluent's frame."""
    return b"\0" + schema_id.to_bytes(4, "big") + body
