"""A schema registry over HTTP.

Job: a schema by its id, with the schemas that it refers to; one registry per address and process.
Rules: ids never change their meaning, so what was read is kept. What failed is not asked again for a moment, and a registry
that does not answer is not asked at all for a moment: a page of records costs one timeout, not one per record. Answers are
limited in size, time and number. No password of the address appears in a sentence.
Must not know: what a schema means, records.
Source: Confluent's REST interface: `GET /schemas/ids/{id}`, `GET /subjects/{subject}/versions/{version}`, both with
`format=serialized`, which gives Protobuf as a FileDescriptorProto in base64 and leaves other kinds as they are.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import requests

from groups.problems import NOT_CONNECTED, NOT_FOUND, REFUSED, TIMEOUT, Kind, Problem

KEPT_SCHEMAS = 1_000
FAILED_S = 10.0
ANSWER_BYTES = 2**20
REFERENCES_LIMIT = 50
_CHUNK_BYTES = 64 * 2**10


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A schema as the registry has it. `kind` is AVRO, PROTOBUF or JSON; `references` are (name, schema), each after those
    that it refers to itself; a Protobuf file imports them by these names."""

    kind: str
    text: str
    references: tuple[tuple[str, Schema], ...] = ()


class Registry:
    """A registry at an address. `clock` gives seconds that never go back."""

    def __init__(self, url: str, *, timeout_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url.rstrip("/")
        self._timeout_s = timeout_ms / 1_000
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Schema] = OrderedDict()
        self._failed: dict[int, tuple[float, Problem]] = {}
        self._away: tuple[float, Problem] | None = None
        self.name = f"schema registry {without_password(self._url)}"

    def schema(self, schema_id: int) -> Schema:
        """A schema.

        Raises Problem: 404 for an id that the registry does not know, 502 to 504 for one that it does not give.
        """
        with self._lock:
            if schema_id in self._kept:
                self._kept.move_to_end(schema_id)
                return self._kept[schema_id]
            if problem := self._still_failing(schema_id):
                raise problem
        return self._remember(schema_id)

    def _still_failing(self, schema_id: int) -> Problem | None:
        for until_s, problem in filter(None, (self._away, self._failed.get(schema_id))):
            if self._clock() < until_s:
                return problem
        return None

    def _remember(self, schema_id: int) -> Schema:
        try:
            found = self._fetch(schema_id)
        except Problem as problem:
            until_s = self._clock() + FAILED_S
            with self._lock:
                if problem.kind in (NOT_CONNECTED, TIMEOUT):
                    self._away = (until_s, problem)
                elif len(self._failed) >= KEPT_SCHEMAS:
                    self._failed.clear()
                self._failed[schema_id] = (until_s, problem)
            raise
        with self._lock:
            self._kept[schema_id] = found
            self._failed.pop(schema_id, None)
            if len(self._kept) > KEPT_SCHEMAS:
                self._kept.popitem(last=False)
        return found

    def _fetch(self, schema_id: int) -> Schema:
        answer = self._get(f"schemas/ids/{schema_id}", f"schema {schema_id}")
        found: dict[str, Schema] = {}
        self._refer(answer, found)
        return _schema(answer, tuple(found.items()), self._refused)

    def _refer(self, answer: dict[str, Any], found: dict[str, Schema], depth: int = 0) -> None:
        """Adds what an answer refers to, what that refers to first."""
        for reference in answer.get("references") or ():
            name, subject, version = (str(reference.get(key, "")) for key in ("name", "subject", "version"))
            if name in found:
                continue
            if depth > REFERENCES_LIMIT or len(found) >= REFERENCES_LIMIT:
                raise self._refused(f"a schema refers to more than {REFERENCES_LIMIT} others")
            path = f"subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
            other = self._get(path, f"schema {subject} version {version}")
            self._refer(other, found, depth + 1)
            found.setdefault(name, _schema(other, (), self._refused))

    def _get(self, path: str, what: str) -> dict[str, Any]:
        """The object at a path."""
        try:
            with requests.get(
                f"{self._url}/{path}",
                params={"format": "serialized"},
                headers={"Accept": "application/vnd.schemaregistry.v1+json, application/json"},
                timeout=self._timeout_s,
                allow_redirects=False,
                stream=True,
            ) as response:
                if response.status_code == 404:
                    raise self._problem(NOT_FOUND, f"does not know {what}")
                if response.status_code != 200:
                    raise self._refused(f"answered {response.status_code} for {what}")
                return self._object(self._body(response), what)
        except requests.Timeout as late:
            raise self._late() from late
        except requests.RequestException as away:
            raise self._problem(NOT_CONNECTED, "does not answer") from away

    def _body(self, response: requests.Response) -> bytes:
        until_s, body = self._clock() + self._timeout_s, b""
        for chunk in response.iter_content(_CHUNK_BYTES):
            body += chunk
            if len(body) > ANSWER_BYTES:
                raise self._refused(f"sent more than {ANSWER_BYTES} bytes")
            if self._clock() > until_s:
                raise self._late()
        return body

    def _object(self, body: bytes, what: str) -> dict[str, Any]:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as problem:
            raise self._refused(f"sent no JSON for {what}") from problem
        if not isinstance(value, dict):
            raise self._refused(f"sent no object for {what}")
        return value

    def _refused(self, did: str) -> Problem:
        return self._problem(REFUSED, did)

    def _late(self) -> Problem:
        return self._problem(TIMEOUT, f"did not answer within {round(self._timeout_s * 1_000)} ms")

    def _problem(self, kind: Kind, did: str) -> Problem:
        return Problem(kind=kind, resource=self.name, message=f"The {self.name} {did}.")


def _schema(answer: dict[str, Any], references: Any, refused: Callable[[str], Problem]) -> Schema:
    text, kind = answer.get("schema"), answer.get("schemaType") or "AVRO"
    if not isinstance(text, str) or not isinstance(kind, str):
        raise refused("sent a schema without text")
    return Schema(kind=kind, text=text, references=references)


def without_password(url: str) -> str:
    """An address without who signs in there."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@lru_cache(maxsize=32)
def registry_at(url: str, timeout_ms: int) -> Registry:
    """This process's registry at an address; safe in threads."""
    return Registry(url, timeout_ms=timeout_ms)
