"""groups.alerts.targets."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from groups.alerts import targets
from groups.alerts.targets import RefusedTarget, post, signature, target_check

SECRET = "a secret of some length"


@pytest.fixture
def server():
    """An HTTP server on this machine that answers `answer` and remembers requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.seen.append((self.path, dict(self.headers), body))
            self.send_response(server.answer)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *arguments):
            """Keeps quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.answer = [], 200
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_works(server, settings):
    settings.KAAS_WEBHOOK_PRIVATE = True
    answer = post(f"{server.url}/alerts?key=1", SECRET, "7", {"event": "test"})
    assert answer.is_taken and answer.status == 200
    ((path, headers, body),) = server.seen
    assert path == "/alerts?key=1" and json.loads(body) == {"event": "test", "delivery_id": "7"}
    assert headers["X-Kaas-Delivery"] == "7" and headers["Content-Type"] == "application/json"
    at, _, digest = headers["X-Kaas-Signature"].removeprefix("t=").partition(",v1=")
    assert digest == hmac.new(SECRET.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


def test_a_signature_depends_on_everything():
    one = signature(SECRET, b"body", 1)
    others = {signature("other", b"body", 1), signature(SECRET, b"other", 1), signature(SECRET, b"body", 2)}
    assert one not in others and len(others) == 3


@pytest.mark.parametrize("status", [302, 404, 500])
def test_other_answers_are_no_success_and_redirections_are_not_followed(server, settings, status):
    settings.KAAS_WEBHOOK_PRIVATE, server.answer = True, status
    answer = post(server.url, SECRET, "1", {})
    assert (answer.is_taken, answer.final, answer.error) == (False, False, f"It answered {status}.")
    assert len(server.seen) == 1


def test_who_does_not_answer_is_told_as_a_reason(settings):
    settings.KAAS_WEBHOOK_PRIVATE = True
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        answer = post(f"http://127.0.0.1:{free.getsockname()[1]}/", SECRET, "1", {})
    assert answer.error.startswith("ConnectionRefusedError") and not answer.final


INSIDE = ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "100.64.0.1"]
INSIDE_6 = ["[::1]", "[fe80::1]", "[fc00::1]", "[::ffff:127.0.0.1]", "[2002:7f00:1::]", "[::]"]


@pytest.mark.parametrize("host", INSIDE + INSIDE_6)
def test_addresses_inside_of_a_network_are_refused(host, settings):
    settings.KAAS_WEBHOOK_PRIVATE = False
    with pytest.raises(RefusedTarget, match="KAAS_WEBHOOK_PRIVATE"):
        target_check(f"http://{host}/x")
    answer = post(f"http://{host}/x", SECRET, "1", {})
    assert answer.final and "inside of a network" in answer.error


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://example.org", "file:///etc/passwd", "http://", "https://a:b@c/", "http://x:0/", "http://x:y/"],
)
def test_what_is_no_address_of_a_webhook_is_refused(url):
    with pytest.raises(RefusedTarget):
        target_check(url)


def test_a_name_that_leads_inside_is_refused_when_it_is_called(settings, monkeypatch):
    settings.KAAS_WEBHOOK_PRIVATE = False
    target_check("https://hooks.example.org/")
    rows = [(2, 1, 6, "", ("203.0.114.1", 443)), (2, 1, 6, "", ("10.1.1.1", 443))]
    monkeypatch.setattr(targets.socket, "getaddrinfo", lambda *_, **__: rows)
    assert post("https://hooks.example.org/", SECRET, "1", {}).final


def test_the_connection_goes_to_the_address_that_was_checked(server, settings, monkeypatch):
    settings.KAAS_WEBHOOK_PRIVATE = True
    asked = []

    def resolved(host, port, **_):
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(targets.socket, "getaddrinfo", resolved)
    connect = socket.create_connection
    monkeypatch.setattr(targets.socket, "create_connection", lambda address, timeout: connect_raw(address, connect))
    assert post(f"http://hooks.example.org:{server.server_port}/", SECRET, "1", {}).is_taken
    assert asked[0] == "hooks.example.org"
    assert server.seen[0][1]["Host"] == f"hooks.example.org:{server.server_port}"


def connect_raw(address, connect):
    assert address[0] == "127.0.0.1", "no name is resolved a second time"
    sock = socket.socket()
    sock.settimeout(5)
    sock.connect(address)
    return sock
