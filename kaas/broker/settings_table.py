"""Every setting of the broker: its name, type, default and meaning.

Job: the table that values are checked against, and that docs/OPERATIONS.md and DescribeConfigs are made of.
Rules: Kafka's name where Kafka has the setting; names of our own begin with `kaas.`. A setting is dynamic when everybody who
uses it asks for it anew, so that a change while the broker runs takes effect at once; all others are fixed at the start. Times
may be far below Apache's minimums.
Must not know: values, who reads a setting.
Source: Apache Kafka 4.2 broker configuration; the defaults are Apache's unless the meaning says otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kaas.broker.security.limits import address_limits
from kaas.broker.security.names import mapping_rules, super_users
from kaas.coordinator.config import MigrationPolicy
from kaas.coordinator.modern.assignors import ASSIGNORS

Value = int | bool | str | float

FOREVER = 2**31 - 1
LONGEST_MS = 2**63 - 1
LISTENER_PREFIX = "listener.name."


class BadSetting(Exception):
    """A setting that does not exist, or a value that it cannot have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`kind` is int, long, bool, string, list, double or password, as Kafka's tools name types; a password is shown to nobody.

    `least`: the smallest number taken. `choices`: the texts, or items of a list, that are taken; empty: any. `dynamic`: may be
    changed while the broker runs. `per_listener`: may be set for one listener, as `listener.name.<listener>.<name>`. `reads`:
    raises ValueError for a text that is not of the form that the setting has.
    """

    name: str
    kind: str
    default: Value
    meaning: str
    least: int | None = None
    choices: tuple[str, ...] = ()
    dynamic: bool = False
    per_listener: bool = False
    reads: Callable[[str], object] | None = None

    @property
    def is_secret(self) -> bool:
        return self.kind == "password"

    def parse(self, text: str) -> Value:
        """Raises BadSetting."""
        text = text.strip()
        if self.kind in ("string", "list", "password"):
            return self._chosen(text)
        if self.kind == "bool":
            if text.lower() not in ("true", "false"):
                raise BadSetting(f"{self.name}={text!r}: true or false is taken")
            return text.lower() == "true"
        try:
            number = float(text) if self.kind == "double" else int(text)
        except ValueError:
            raise BadSetting(f"{self.name}={text!r}: a number is taken") from None
        if self.least is not None and number < self.least:
            raise BadSetting(f"{self.name}={text!r}: {self.least} or more is taken")
        return number

    def _chosen(self, text: str) -> str:
        items = list_items(text) if self.kind == "list" else [text]
        if self.choices and not (items and set(items) <= set(self.choices)):
            raise BadSetting(f"{self.name}={text!r}: {' or '.join(self.choices)} is taken")
        if self.reads is not None:
            try:
                self.reads(text)
            except ValueError as problem:
                raise BadSetting(f"{self.name}: {problem}") from None
        return text


def list_items(text: str) -> list[str]:
    """The items of a list."""
    return [item for item in (part.strip() for part in text.split(",")) if item]


def with_classic(text: str) -> None:
    """Raises ValueError when a list of protocols is without the one that cannot be taken away, as on an Apache broker."""
    if "classic" not in list_items(text):
        raise ValueError("classic cannot be left out")


def _fixed(name: str, kind: str, default: Value, meaning: str, least: int | None = None, **more: Any) -> Setting:
    return Setting(name=name, kind=kind, default=default, meaning=meaning, least=least, **more)


def _dynamic(*row: Any, **more: Any) -> Setting:
    return replace(_fixed(*row, **more), dynamic=True)


def _listener(*row: Any, **more: Any) -> Setting:
    return replace(_fixed(*row, **more), per_listener=True)


_GROUPS = (
    _dynamic("group.min.session.timeout.ms", "int", 6_000, "shortest session timeout a classic member may ask for", 1),
    _dynamic(
        "group.max.session.timeout.ms", "int", 1_800_000, "longest session timeout a classic member may ask for", 1
    ),
    _dynamic(
        "group.initial.rebalance.delay.ms",
        "int",
        3_000,
        "how long the first join phase of an empty group waits for others",
        0,
    ),
    _dynamic("group.max.size", "int", FOREVER, "most members of a classic group", 1),
    _dynamic(
        "offset.metadata.max.bytes", "int", 4_096, "longest metadata beside a committed offset, in UTF-16 units", 0
    ),
    _dynamic("offsets.retention.minutes", "int", 10_080, "how long offsets stay after a group became empty", 1),
    _dynamic("offsets.retention.check.interval.ms", "long", 600_000, "how often expired offsets are looked for", 1),
    _dynamic(
        "kaas.rebalance.on.partition.growth",
        "bool",
        True,
        "groups rebalance at once when a topic they read gets partitions (Apache leaves that to clients)",
    ),
)

_CONSUMER_GROUPS = (
    _fixed(
        "group.coordinator.rebalance.protocols",
        "list",
        "classic,consumer",
        "the protocols that groups may speak; without consumer every heartbeat of KIP-848 is refused",
        choices=("classic", "consumer"),
        reads=with_classic,
    ),
    _fixed(
        "group.consumer.session.timeout.ms",
        "int",
        45_000,
        "a member under KIP-848 that is silent for this long is removed, unless its group has its own time",
        1,
    ),
    _fixed("group.consumer.min.session.timeout.ms", "int", 45_000, "shortest session timeout a group may be given", 1),
    _fixed("group.consumer.max.session.timeout.ms", "int", 60_000, "longest session timeout a group may be given", 1),
    _fixed(
        "group.consumer.heartbeat.interval.ms",
        "int",
        5_000,
        "how often a member under KIP-848 is told to send heartbeats, unless its group has its own time",
        1,
    ),
    _fixed(
        "group.consumer.min.heartbeat.interval.ms", "int", 5_000, "shortest heartbeat interval a group may be given", 1
    ),
    _fixed(
        "group.consumer.max.heartbeat.interval.ms", "int", 15_000, "longest heartbeat interval a group may be given", 1
    ),
    _dynamic("group.consumer.max.size", "int", FOREVER, "most members of a consumer group", 1),
    _dynamic(
        "group.consumer.assignors",
        "list",
        ",".join(ASSIGNORS),
        "the assignors that members may name; the first is taken where nobody names one",
        choices=tuple(ASSIGNORS),
    ),
    _dynamic(
        "group.consumer.migration.policy",
        "string",
        MigrationPolicy.BIDIRECTIONAL.value,
        "whether a group with members may go over to the consumer protocol (upgrade), back (downgrade), or both",
        choices=tuple(policy.value for policy in MigrationPolicy),
    ),
    _dynamic(
        "group.consumer.regex.refresh.interval.ms",
        "int",
        600_000,
        "how often the patterns of a group are matched against the topics again, even where no topic is new",
        1,
    ),
)

_CONNECTIONS = (
    _fixed("listeners", "list", "", "where to listen, as NAME://host:port,…; empty: --host and --port"),
    _fixed(
        "advertised.listeners", "list", "", "the addresses that clients are told, by listener; empty: where it listens"
    ),
    _fixed("socket.request.max.bytes", "int", 104_857_600, "largest request", 1),
    _dynamic("max.connections", "int", FOREVER, "most connections at one time", 0),
    _dynamic("max.connections.per.ip", "int", FOREVER, "most connections from one address at one time", 0),
    _dynamic(
        "max.connections.per.ip.overrides",
        "string",
        "",
        "most connections from single addresses, as address:number,…; an IPv6 address stands in brackets",
        reads=address_limits,
    ),
    _fixed(
        "connections.max.idle.ms",
        "long",
        600_000,
        "a connection that is idle this long, or whose client reads nothing for this long, is closed; -1 is never",
        -1,
    ),
    _fixed(
        "kaas.slow.reader.ms",
        "long",
        -1,
        "a connection whose client reads nothing of its answers for this long is closed; -1: as an idle one",
        -1,
    ),
    _fixed("quota.window.num", "int", 11, "windows in which a quota may be used up at once", 1),
    _fixed("quota.window.size.seconds", "int", 1, "length of such a window", 1),
)

_SECURITY = (
    _fixed(
        "listener.security.protocol.map",
        "list",
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "the protocol of each listener, as NAME:PROTOCOL,…; while it is not set, other names are PLAINTEXT",
    ),
    _listener("ssl.keystore.type", "string", "PEM", "form of the broker's key and certificate", choices=("PEM",)),
    _listener(
        "ssl.keystore.location", "string", "", "file with the broker's key and its certificate with those that sign it"
    ),
    _listener(
        "ssl.keystore.certificate.chain", "password", "", "the certificate with those that sign it, in place of a file"
    ),
    _listener("ssl.keystore.key", "password", "", "the key of the certificate, in place of a file"),
    _listener("ssl.key.password", "password", "", "what the key is encrypted with; empty: it is not"),
    _listener("ssl.truststore.type", "string", "PEM", "form of the certificates that sign clients'", choices=("PEM",)),
    _listener("ssl.truststore.location", "string", "", "file with the certificates that sign those of clients"),
    _listener("ssl.truststore.certificates", "password", "", "certificates that sign clients', in place of a file"),
    _listener(
        "ssl.client.auth",
        "string",
        "none",
        "whether clients must show a certificate; on SASL_SSL only when it is set for the listener",
        choices=("none", "requested", "required"),
    ),
    _listener(
        "ssl.enabled.protocols",
        "list",
        "TLSv1.2,TLSv1.3",
        "versions of TLS that are spoken",
        choices=("TLSv1.2", "TLSv1.3"),
    ),
    _listener("ssl.cipher.suites", "list", "", "cipher suites of TLS 1.2, by OpenSSL's names; empty: OpenSSL's choice"),
    _listener(
        "ssl.principal.mapping.rules",
        "string",
        "DEFAULT",
        "how the subject of a client's certificate becomes its name, as RULE:pattern/replacement/[LU],…,DEFAULT",
        reads=mapping_rules,
    ),
    _listener(
        "sasl.enabled.mechanisms",
        "list",
        "SCRAM-SHA-256,SCRAM-SHA-512",
        "how clients may show who they are; PLAIN tells the broker the password (Apache: GSSAPI)",
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    ),
    _listener("sasl.server.max.receive.size", "int", 524_288, "largest request before a client has shown who it is", 1),
    _listener(
        "connections.max.reauth.ms", "long", 0, "clients must show anew who they are after this time; 0 is never", 0
    ),
    _listener(
        "connection.failed.authentication.delay.ms",
        "int",
        100,
        "how long a client waits for the answer to wrong credentials",
        0,
    ),
    _fixed("super.users", "string", "", "principals that may do everything, as User:name;User:name", reads=super_users),
    _fixed(
        "allow.everyone.if.no.acl.found",
        "bool",
        False,
        "when there are rules, everybody may do everything with what no rule names",
    ),
)

_TOPICS = (
    _dynamic("auto.create.topics.enable", "bool", True, "Metadata creates topics that clients ask for"),
    _dynamic("num.partitions", "int", 1, "partitions of topics that are created without a number", 1),
    _dynamic("default.replication.factor", "int", 1, "replicas of topics that are created without a number", 1),
    _dynamic("delete.topic.enable", "bool", True, "topics may be deleted"),
    _dynamic("message.max.bytes", "int", 1_048_588, "largest batch a topic takes, unless the topic says otherwise", 0),
    _dynamic(
        "compression.type",
        "string",
        "producer",
        "compression of stored batches; producer keeps what was sent",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _dynamic("log.cleanup.policy", "list", "delete", "delete, compact, or both", choices=("delete", "compact")),
    _dynamic("log.segment.bytes", "int", 1_073_741_824, "a log begins a new segment at this size", 14),
    _dynamic("log.roll.ms", "long", 604_800_000, "a log begins a new segment after this time", 1),
    _dynamic("log.retention.ms", "long", 604_800_000, "segments older than this are deleted; -1 is never", -1),
    _dynamic("log.retention.bytes", "long", -1, "oldest segments of a larger log are deleted; -1 is never", -1),
    _fixed("log.retention.check.interval.ms", "long", 300_000, "how often expired segments are looked for", 1),
    _dynamic("log.flush.interval.messages", "long", LONGEST_MS, "fsync after so many records", 1),
    _dynamic("log.flush.interval.ms", "long", LONGEST_MS, "fsync after so long", 1),
    _dynamic("log.index.interval.bytes", "int", 4_096, "bytes of log between two entries of an index", 0),
    _dynamic("log.index.size.max.bytes", "int", 10_485_760, "largest index of a segment", 4),
    _dynamic(
        "log.message.timestamp.type",
        "string",
        "CreateTime",
        "CreateTime or LogAppendTime",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _dynamic("log.message.timestamp.before.max.ms", "long", LONGEST_MS, "how far back a record's time may lie", 0),
    _dynamic("log.message.timestamp.after.max.ms", "long", 3_600_000, "how far ahead a record's time may lie", 0),
    _dynamic("log.cleaner.delete.retention.ms", "long", 86_400_000, "how long a compacted log keeps tombstones", 0),
    _dynamic("log.cleaner.min.compaction.lag.ms", "long", 0, "records younger than this are not compacted", 0),
    _dynamic("log.cleaner.max.compaction.lag.ms", "long", LONGEST_MS, "records older than this are compacted", 1),
    _dynamic(
        "log.cleaner.min.cleanable.ratio",
        "double",
        0.5,
        "how much of a log must be uncompacted before it is compacted",
        0,
    ),
    _dynamic("log.segment.delete.delay.ms", "long", 60_000, "without effect: a deleted segment goes at once", 0),
    _dynamic("log.preallocate", "bool", False, "segments are allocated whole"),
    _dynamic("min.insync.replicas", "int", 1, "replicas that must have a batch for acks=all", 1),
    _dynamic("unclean.leader.election.enable", "bool", False, "a replica that is behind may lead"),
)

_RECORDS = (
    _dynamic("fetch.max.bytes", "int", 57_671_680, "most bytes of one fetch answer", 1_024),
    _fixed("max.incremental.fetch.session.cache.slots", "int", 1_000, "most fetch sessions", 0),
    _fixed("producer.id.expiration.ms", "int", 86_400_000, "an idle producer id is forgotten after this", 1),
    _dynamic(
        "transactional.id.expiration.ms", "int", 604_800_000, "an idle transactional id is forgotten after this", 1
    ),
    _dynamic(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "int",
        3_600_000,
        "how often idle transactional ids are looked for",
        1,
    ),
    _dynamic("transaction.max.timeout.ms", "int", 900_000, "longest transaction timeout a producer may ask for", 1),
)

_OURS = (
    _fixed("kaas.journal.roll.bytes", "long", 67_108_864, "the journal begins a new file at this size", 4_096),
    _fixed("kaas.checkpoint.interval.ms", "long", 700, "how often changed groups are written to their JSON files", 10),
    _fixed("kaas.cluster", "string", "local", "the cluster's name in the feed"),
    _fixed("kaas.feed.events", "long", 100_000, "events that the feed keeps", 100),
    _fixed(
        "kaas.feed.commits.interval.ms", "int", 200, "commits and heartbeats of a group are told at most this often", 10
    ),
    _fixed("kaas.feed.topics.interval.ms", "int", 1_000, "log ends are told at most this often", 10),
)

TABLE: dict[str, Setting] = {
    row.name: row
    for rows in (_GROUPS, _CONSUMER_GROUPS, _CONNECTIONS, _SECURITY, _TOPICS, _RECORDS, _OURS)
    for row in rows
}
"""Every setting by name."""


def known(name: str) -> Setting:
    """The setting of a name, or of a name for one listener. Raises BadSetting."""
    if name.startswith(LISTENER_PREFIX):
        general = TABLE.get(name.removeprefix(LISTENER_PREFIX).partition(".")[2])
        if general is None or not general.per_listener:
            raise BadSetting(f"{name!r} is not a setting that one listener can have")
        return general
    if name not in TABLE:
        near = difflib.get_close_matches(name, TABLE, 3)
        raise BadSetting(f"there is no setting {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    return TABLE[name]
