"""SaslHandshake (key 17), versions 0-1: a client names the mechanism by which it will show who it is (KIP-43).

Versions: 0 tokens follow bare, without a request around them; 1 tokens follow as SaslAuthenticate (KIP-152). A mechanism that
is not offered is 33, with those that are; the connection ends. On a listener without SASL, and in the middle of an exchange,
it is 34. A client that has signed in may begin anew (KIP-368).
Left out: nothing.
"""

from __future__ import annotations

import functools

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.broker.security.failure import AuthenticationFailed
from kaas.errors import ErrorCode
from kaas.wire.apis import SASL_HANDSHAKE

API = SASL_HANDSHAKE


def handle(broker: Broker, request: Request) -> None:
    """Serve a SaslHandshake."""
    gate, session = broker.gates.get(request.connection.listener), request.connection.session
    mechanism = request.decode().mechanism
    if gate is None or session is None or not session.may_begin:
        request.answer({"error_code": ErrorCode.ILLEGAL_SASL_STATE, "mechanisms": ()})
        return
    answered = functools.partial(reply, request, session.mechanisms)
    gate.handshake(request.connection, mechanism, raw=request.version == 0, answered=answered)


def reply(request: Request, mechanisms: tuple[str, ...], result: bytes | AuthenticationFailed) -> None:
    """What is offered, and whether the exchange may begin."""
    if isinstance(result, AuthenticationFailed):
        request.answer({"error_code": ErrorCode.UNSUPPORTED_SASL_MECHANISM, "mechanisms": mechanisms})
        request.refuse("no common mechanism")
    else:
        request.answer({"error_code": ErrorCode.NONE, "mechanisms": mechanisms})
