"""SaslAuthenticate (key 36), versions 0-2: a token of the exchange by which a client shows who it is (KIP-152).

Versions: 1 how long that holds (KIP-368); 2 flexible.
Wrong credentials are 58 after a delay, and the connection ends. Where no exchange is going on it is 34.
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.gates import SaslGate
from kaas.broker.security.sasl import Phase
from kaas.errors import ErrorCode
from kaas.wire.apis import SASL_AUTHENTICATE

API = SASL_AUTHENTICATE
FAILED = "Authentication failed: the credentials are not those of a user here (mechanism {})."


def handle(broker: Broker, request: Request) -> None:
    """Serve a SaslAuthenticate."""
    gate, session = broker.gates.get(request.connection.listener), request.connection.session
    token = request.decode().auth_bytes
    if gate is None or session is None or session.phase is not Phase.TOKENS:
        message = "There is no exchange that a token could belong to."
        request.answer({"error_code": ErrorCode.ILLEGAL_SASL_STATE, "error_message": message})
        return
    gate.take(request.connection, token, functools.partial(reply, gate, request, session.mechanism))


def reply(gate: SaslGate, request: Request, mechanism: str, result: bytes | AuthenticationFailed) -> None:
    """The broker's token, or the end of the connection."""
    if isinstance(result, AuthenticationFailed):
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
        request.answer({"error_code": code, "error_message": FAILED.format(mechanism)})
        request.refuse("authentication failed")
        return
    request.answer(
        {
            "error_code": ErrorCode.NONE,
            "auth_bytes": result,
            "session_lifetime": gate.lifetime_ms(request.connection),
        }
    )
