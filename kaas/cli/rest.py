"""The console's REST API as commands ask it.

Job: addresses, one request, lists of several pages; failures as exit statuses.
Rules: no redirect is followed and no credential but the token is sent. A write carries an Idempotency-Key, so a connection
that breaks in the middle is tried once more without doing anything twice.
Must not know: commands, terminals.
Source: /api/schema/ of a running console.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import requests

from kaas.cli.exits import Exit, Failed

PAGE_SIZE = 1_000
TIMEOUT_S = 60.0

Json = dict[str, Any]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOKEN = re.compile(r"[!-~]*")
_STATUSES = {
    404: Exit.NOT_FOUND,
    429: Exit.UNREACHABLE,
    503: Exit.UNREACHABLE,
    504: Exit.UNREACHABLE,
}


def key_of(id_: str) -> str:
    """The path segment of a group or member id: itself when it is plain, else `~` and unpadded base64url.

    Raises Failed (usage) for bytes that are no UTF-8, which no Kafka id is made of.
    """
    if _PLAIN.fullmatch(id_):
        return id_
    try:
        return "~" + base64.urlsafe_b64encode(id_.encode()).decode().rstrip("=")
    except UnicodeEncodeError:
        raise Failed(Exit.USAGE, f"{id_!a} is no text in UTF-8.") from None


def segment(name: str) -> str:
    """A cluster's or topic's name as a path segment."""
    return quote(name, safe="")


class Rest:
    """A console at `server` (its base path included), asked with a token.

    Raises Failed (usage) for an address or a token that is none.
    """

    def __init__(self, server: str, token: str) -> None:
        if not re.match(r"https?://[^/]", server):
            raise Failed(
                Exit.USAGE, f"{server!r} is no address of a console: expected http://host:port or https://host."
            )
        if not _TOKEN.fullmatch(token):
            raise Failed(Exit.USAGE, "The token holds characters that no token has.")
        self.server = server.rstrip("/")
        self.token = token
        self._session = requests.Session()
        self._session.auth = self._authorize

    def ask(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """The JSON of an answer below /api/v1/, null when it has none.

        Raises Failed for every answer that is none of success.
        """
        headers = {"Accept": "application/json"}
        if method != "GET":
            headers["Idempotency-Key"] = uuid.uuid4().hex
        given = {name: value for name, value in (query or {}).items() if value not in (None, ())}
        send = {"params": given, "json": body, "headers": headers, "timeout": TIMEOUT_S, "allow_redirects": False}
        answer = self._answer(method, f"{self.server}/api/v1/{path}", send)
        if answer.ok and not answer.is_redirect:
            return self._json(answer) if answer.content else None
        raise self._failure(answer)

    def listing(self, path: str, query: Mapping[str, Any] | None = None, limit: int | None = None) -> Json:
        """A list, its pages put together: `items`, `errors` and `total`; at most `limit` items."""
        items: list[Json] = []
        page = 1
        size = min(PAGE_SIZE, limit or PAGE_SIZE)
        while True:
            found = self.ask("GET", path, {**(query or {}), "page": page, "page_size": size})
            items += found["items"]
            if not found["items"] or len(items) >= min(found["total"], limit or found["total"]):
                return {"items": items[:limit], "errors": found["errors"], "total": found["total"]}
            page += 1

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        # As `auth`, because requests would else take a password from ~/.netrc in its place.
        if self.token:
            request.headers["Authorization"] = f"Bearer {self.token}"
        return request

    def _answer(self, method: str, url: str, send: Json) -> requests.Response:
        for last in (False, True):
            try:
                return self._session.request(method, url, **send)
            except (requests.ConnectionError, requests.Timeout) as problem:
                if last or "refused" in str(problem):
                    raise Failed(Exit.UNREACHABLE, f"The console at {self.server} does not answer.") from problem
            except requests.RequestException as problem:
                raise Failed(Exit.USAGE, f"{self.server} cannot be asked: {problem}.") from problem
        raise AssertionError("the last try returned or raised")

    def _json(self, answer: requests.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            raise self._stranger(answer) from None

    def _failure(self, answer: requests.Response) -> Failed:
        try:
            problem = answer.json()
            message = str(problem["message"])
        except (ValueError, KeyError, TypeError):
            return self._stranger(answer)
        return Failed(_STATUSES.get(answer.status_code, Exit.REFUSED), message, problem)

    def _stranger(self, answer: requests.Response) -> Failed:
        message = f"{self.server} answered {answer.status_code}, but not as a console does: is this its address?"
        return Failed(Exit.UNREACHABLE, message)
