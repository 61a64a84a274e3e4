"""ApiVersions (key 18), versions 0-4: which APIs are served, and the levels of cluster-wide features.

Versions: 1 throttle time; 3 flexible, client software name and version, features; 4 features whose lowest level is 0.
A version that is not served is answered in version 0 with code 35 and this API's own row, so that a client can ask again
(KIP-511); the request's body is not read then. The answer's header is never flexible.
Left out: features of KRaft and of Zookeeper migration, as this broker has neither.
Source: PROTOCOL 1.3 in docs/PROTOCOL.md; KIP-511, KIP-584, KAFKA-17011.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.features import FEATURES
from kaas.broker.request import Request
from kaas.errors import ErrorCode
from kaas.wire.apis import API_VERSIONS, APIS
from kaas.wire.encode import encode_response

API = API_VERSIONS
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What a client may call itself."""

FEATURES_EPOCH = 1


def handle(broker: Broker, request: Request) -> None:
    """Serve an ApiVersions."""
    message = request.decode()
    if request.version >= 3 and not is_proper(message.client_software_name, message.client_software_version):
        request.answer({"error_code": ErrorCode.INVALID_REQUEST, "api_keys": ()})
        return
    request.answer_body(table_body(request.version))


def is_proper(name: str, version: str) -> bool:
    return all(SOFTWARE.fullmatch(text) for text in (name, version))


@functools.cache
def table_body(version: int) -> bytes:
    """The answer to everyone who asks in this version."""
    return encode_response(API.key, version, table(version))


def table(version: int) -> dict[str, Any]:
    """Rows and features; versions below 4 leave out features whose lowest level is 0, as older Java clients fail on them."""
    rows = [
        {"api_key": api.key, "min_version": api.lowest_advertised, "max_version": api.max_version}
        for api in APIS.values()
    ]
    supported = [
        {"name": f.name, "min_version": f.min_level, "max_version": f.max_level}
        for f in FEATURES
        if version >= 4 or f.min_level > 0
    ]
    finalized = [
        {"name": f.name, "min_version_level": f.level, "max_version_level": f.level} for f in FEATURES if f.level > 0
    ]
    return {
        "api_keys": rows,
        "supported_features": supported,
        "finalized_features_epoch": FEATURES_EPOCH,
        "finalized_features": finalized,
    }


def unknown_version_body() -> bytes:
    """The version 0 answer to a version that is not served."""
    row = {"api_key": API.key, "min_version": API.min_version, "max_version": API.max_version}
    return encode_response(API.key, 0, {"error_code": ErrorCode.UNSUPPORTED_VERSION, "api_keys": [row]})
