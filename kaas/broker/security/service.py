"""The security of a broker: its files of users, rules and quotas, and the gates of its listeners.

Job: bring the files in, put what they say in force, take them anew when they change; make the gate of each listener.
Rules: a change of rules or quotas makes every connection forget what it recognises, as that was allowed under the old ones.
Files are looked at in a thread, once a second. A renewed certificate is taken for the connections that come then.
Must not know: requests.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from kaas.broker.broker import Broker
from kaas.broker.connection import Desk
from kaas.broker.dispatch import Dispatcher
from kaas.broker.security import credentials, quotas, rules
from kaas.broker.security.credentials import Users
from kaas.broker.security.gates import CertificateGate, SaslGate
from kaas.broker.security.names import mapping_rules, super_users
from kaas.broker.security.plain import CHECKED_WITH, MECHANISM, PlainExchange
from kaas.broker.security.protocols import Protocol
from kaas.broker.security.quotas import Quota, Quotas
from kaas.broker.security.rules import Rule, Rules
from kaas.broker.security.sasl import Exchange
from kaas.broker.security.scram import ScramExchange
from kaas.broker.security.tls import load_key, server_context
from kaas.broker.security.watched import Watched
from kaas.broker.settings import BadSetting
from kaas.broker.settings_table import list_items

log = structlog.get_logger("kaas.broker.security")

LOOK_S = 1.0
THREADS = 2
"""So many passwords are checked at one time; more would take the processor from everything else."""


class Security:
    """What `broker` is protected with. `dispatcher` serves those whom a gate lets through; `folder` holds the files."""

    def __init__(self, broker: Broker, dispatcher: Dispatcher, folder: Path) -> None:
        self._broker = broker
        self._dispatcher = dispatcher
        self._users: Watched[Users] = Watched(folder / credentials.FILE_NAME, credentials.parse, {})
        self._rules: Watched[tuple[Rule, ...] | None] = Watched(folder / rules.FILE_NAME, rules.parse, None)
        self._quotas: Watched[tuple[Quota, ...]] = Watched(folder / quotas.FILE_NAME, quotas.parse, ())
        self._keystores: dict[str, tuple[Watched[bytes], ssl.SSLContext]] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="authentication")
        self._handle: asyncio.TimerHandle | None = None

    def load(self) -> None:
        """Read the files. In a thread. Raises BadFile, OSError."""
        self._users.load()
        self._rules.load()
        self._quotas.load()

    def start(self) -> None:
        """Put in force what the files say, and look for changes from now on."""
        self._put_in_force()
        self._look_later()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._threads.shutdown(wait=False)

    @property
    def has_rules(self) -> bool:
        """Whether there is a file of rules."""
        return self._rules.value is not None

    # Listeners

    def desk(self, listener: str, protocol: Protocol) -> Desk:
        """What the connections of a listener come to first. Raises BadSetting."""
        dispatcher, settings = self._dispatcher, self._broker.settings
        if protocol is Protocol.SSL:
            return CertificateGate(dispatcher, mapping_rules(settings.on(listener, "ssl.principal.mapping.rules")))
        if not protocol.has_sasl:
            return dispatcher
        if not self._users.value:
            log.warning("nobody can sign in: there are no users yet", listener=listener, file=str(self._users.path))
        gate = self._broker.gates[listener] = SaslGate(
            dispatcher,
            self._offered(list_items(settings.on(listener, "sasl.enabled.mechanisms"))),
            now_ms=self._broker.clock.now_ms,
            lifetime_ms=settings.on(listener, "connections.max.reauth.ms"),
            failure_delay_ms=settings.on(listener, "connection.failed.authentication.delay.ms"),
            max_bytes_before=settings.on(listener, "sasl.server.max.receive.size"),
            threads=self._threads,
        )
        return gate

    def context(self, listener: str, protocol: Protocol) -> ssl.SSLContext | None:
        """What a listener speaks TLS with, if it does. Raises BadSetting."""
        if not protocol.has_tls:
            return None
        settings = self._broker.settings
        context = server_context(settings, listener, protocol)
        location = settings.on(listener, "ssl.keystore.location")
        if location:
            keystore = Watched(Path(location), bytes, b"")
            keystore.load()
            self._keystores[listener] = keystore, context
        return context

    def _offered(self, mechanisms: list[str]) -> Mapping[str, Callable[[], Exchange]]:
        users = self._current_users
        return {
            name: functools.partial(PlainExchange, credentials.finder(users, CHECKED_WITH))
            if name == MECHANISM
            else functools.partial(ScramExchange, name, credentials.finder(users, name))
            for name in mechanisms
        }

    def _current_users(self) -> Users:
        return self._users.value

    # Changes

    def _look_later(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        looking = asyncio.get_running_loop().run_in_executor(self._threads, self.refresh)
        looking.add_done_callback(self._looked)

    def refresh(self) -> tuple[bool, list[str]]:
        """Read what has changed: whether rules or quotas are new, and the listeners whose certificate is. In a thread."""
        self._users.refresh()
        changed = [self._rules.refresh(), self._quotas.refresh()]
        return any(changed), [name for name, (keystore, _) in self._keystores.items() if keystore.refresh()]

    def _looked(self, looking: asyncio.Future[tuple[bool, list[str]]]) -> None:
        if looking.cancelled():
            return
        changed, listeners = looking.result()
        if changed:
            self._put_in_force()
        for listener in listeners:
            self._renew(listener)
        self._look_later()

    def _renew(self, listener: str) -> None:
        """Take a certificate that was read a moment ago; OpenSSL wants its context to itself, so not in a thread."""
        try:
            load_key(self._keystores[listener][1], self._broker.settings, listener)
        except BadSetting as problem:
            log.error("a certificate is not taken; the one before stays", listener=listener, reason=str(problem))

    def _put_in_force(self) -> None:
        broker, settings = self._broker, self._broker.settings
        window_s = settings["quota.window.num"] * settings["quota.window.size.seconds"]
        broker.quotas = Quotas(self._quotas.value, window_s)
        broker.rules = None
        if self._rules.value is not None:
            broker.rules = Rules(
                self._rules.value,
                super_users=super_users(settings["super.users"]),
                everyone_if_none=settings["allow.everyone.if.no.acl.found"],
            )
        self._dispatcher.rights_changed(is_metered=bool(broker.quotas))
