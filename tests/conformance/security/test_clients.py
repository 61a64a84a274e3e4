"""Real clients on protected listeners: librdkafka, aiokafka, and Apache's own Java client and tools.

One broker with every kind of listener serves the whole file. Its users are those that the command adds.
"""

import asyncio
import json
import ssl
import subprocess
import sys
import uuid

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kaas.broker.security import credentials, rules
from kaas.storage.files import CLUSTER_FOLDER
from tests.support.apache import java
from tests.support.broker import ROOT, BrokerProcess
from tests.support.certificates import Authority, parts_of
from tests.support.ports import free_ports
from tests.support.waiting import until

NAMES = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "MUTUAL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
WITHIN_S = 20
TOOL_S = 90
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class Site:
    """The broker, and what clients need to reach each of its listeners."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority(folder)
        ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))
        self.addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        keystore = self.authority.issue("broker")
        self.broker = BrokerProcess(
            folder / "data",
            {
                "listeners": ",".join(f"{name}://{address}" for name, address in self.addresses.items()),
                "listener.security.protocol.map": ",".join(
                    f"{name}:{'SSL' if name == 'MUTUAL' else name}" for name in NAMES
                ),
                "sasl.enabled.mechanisms": ",".join(MECHANISMS),
                "connections.max.reauth.ms": 2_000,
                "connection.failed.authentication.delay.ms": 10,
                "ssl.keystore.location": keystore,
                "ssl.truststore.location": self.authority.path,
                "listener.name.mutual.ssl.client.auth": "required",
                "super.users": "User:ANONYMOUS;User:alice;User:CN=robot",
            },
            port=ports["PLAINTEXT"],
        )

    def add(self, name, password="secret"):
        command = [sys.executable, "-m", "kaas.broker.users", "add", name, "--data", str(self.broker.data)]
        subprocess.run(command, cwd=ROOT, input=f"{password}\n", text=True, check=True)

    def librdkafka(self, name, mechanism="SCRAM-SHA-512", user="alice", password="secret", certificate=None):
        """Options of a client."""
        options = {"bootstrap.servers": self.addresses[name], "log_level": 0}
        options["security.protocol"] = "SSL" if name == "MUTUAL" else name
        if name not in ("PLAINTEXT", "SASL_PLAINTEXT"):
            options["ssl.ca.location"] = str(self.authority.path)
        if name.startswith("SASL"):
            options |= {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
        if certificate is not None:
            key, chain = parts_of(certificate)
            options |= {"ssl.key.pem": key, "ssl.certificate.pem": chain}
        return options


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("security"))
    for name in ("alice", "bob"):
        made.add(name)
    allowed = {
        "permission_type": "ALLOW",
        "principal": "User:bob",
        "operations": ["READ"],
        "pattern_type": "PREFIXED",
        "resource_name": "bobs-",
    }
    rows = [{**allowed, "resource_type": kind} for kind in ("GROUP", "TOPIC")]
    path = made.broker.data / CLUSTER_FOLDER / rules.FILE_NAME
    path.write_text(json.dumps({"rules": rows}))
    with made.broker:
        yield made


def fresh(prefix="t"):
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def round_trip(options, topic, group):
    """Write a record, read it in a group, commit: the value that was read, and the offset that was committed."""
    refused = []
    producer = Producer(options)
    producer.produce(topic, b"value", on_delivery=lambda error, _: refused.append(error))
    producer.flush(WITHIN_S)
    assert refused == [None]
    consumer = Consumer({**options, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        message = until(lambda: consumer.poll(0.2), WITHIN_S)
        assert message.error() is None, message.error()
        consumer.commit(message, asynchronous=False)
        (committed,) = consumer.committed([TopicPartition(topic, 0)], WITHIN_S)
        return message.value(), committed.offset
    finally:
        consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_librdkafka_signs_in(site, name, mechanism):
    assert round_trip(site.librdkafka(name, mechanism), fresh(), fresh("g")) == (b"value", 1)


@pytest.mark.parametrize("name", ["PLAINTEXT", "SSL"])
def test_librdkafka_comes_in_where_nobody_signs_in(site, name):
    assert round_trip(site.librdkafka(name), fresh(), fresh("g")) == (b"value", 1)


def test_librdkafka_comes_in_with_a_certificate(site):
    options = site.librdkafka("MUTUAL", certificate=site.authority.issue("robot"))
    assert round_trip(options, fresh(), fresh("g")) == (b"value", 1)


def failure_of(options):
    """The first error that a client of librdkafka meets; no broker is up for it."""
    seen = []
    admin = AdminClient({**options, "error_cb": seen.append})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=3)
    admin.poll(1)
    return {error.code() for error in seen}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_is_told_that_its_password_is_wrong(site, mechanism):
    found = failure_of(site.librdkafka("SASL_PLAINTEXT", mechanism, password="wrong"))
    assert KafkaError._AUTHENTICATION in found


def test_librdkafka_without_a_certificate_does_not_come_in(site):
    assert KafkaError._ALL_BROKERS_DOWN in failure_of(site.librdkafka("MUTUAL"))


def test_a_connection_outlives_the_time_after_which_one_signs_in_again(site):
    """connections.max.reauth.ms is 2 s: librdkafka signs in again by itself (KIP-368)."""
    options = site.librdkafka("SASL_SSL")
    topic, group = fresh(), fresh("g")
    producer = Producer(options)
    sent = []
    for _ in range(2):
        producer.produce(topic, b"value", on_delivery=lambda error, _: sent.append(error))
        producer.flush(WITHIN_S)
    consumer = Consumer({**options, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        assert until(lambda: consumer.poll(0.2), WITHIN_S).error() is None
        before = site.broker.log.count("has not signed in again")
        read = []

        def reads_late():
            producer.produce(topic, b"more")
            producer.flush(WITHIN_S)
            read.append(consumer.poll(0.1))
            return len(read) >= 40

        until(reads_late, 60)
        assert sent == [None, None] and all(one is None or one.error() is None for one in read)
        assert site.broker.log.count("has not signed in again") == before
    finally:
        consumer.close()


def test_who_has_rights_to_some_things_uses_those_and_no_others(site):
    topic, group = fresh("bobs"), fresh("bobs")
    anybody = site.librdkafka("PLAINTEXT")
    assert round_trip(anybody, topic, fresh("g"))[0] == b"value"
    assert round_trip(anybody, fresh("alices"), fresh("g"))[0] == b"value"
    bob = site.librdkafka("SASL_PLAINTEXT", user="bob")
    assert set(AdminClient(bob).list_topics(timeout=WITHIN_S).topics) >= {topic}
    assert all(name.startswith("bobs-") for name in AdminClient(bob).list_topics(timeout=WITHIN_S).topics)
    refused = []
    producer = Producer(bob)
    producer.produce(topic, b"value", on_delivery=lambda error, _: refused.append(error.code()))
    producer.flush(WITHIN_S)
    assert refused == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    for name, answer in ((group, None), (fresh("alices"), KafkaError.GROUP_AUTHORIZATION_FAILED)):
        consumer = Consumer({**bob, "group.id": name, "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe([topic])
            message = until(lambda one=consumer: one.poll(0.2), WITHIN_S)
            assert (message.error().code() if message.error() else None) == answer
        finally:
            consumer.close()


async def aiokafka_round_trip(site, name, mechanism, password="secret"):
    options = {
        "bootstrap_servers": site.addresses[name],
        "security_protocol": name,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": password,
    }
    if name == "SASL_SSL":
        options["ssl_context"] = ssl.create_default_context(cafile=site.authority.path)
    topic = fresh()
    producer = AIOKafkaProducer(**options)
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"value")
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(topic, group_id=fresh("g"), auto_offset_reset="earliest", **options)
    await consumer.start()
    try:
        message = await asyncio.wait_for(consumer.getone(), WITHIN_S)
        await consumer.commit()
        return message.value
    finally:
        await consumer.stop()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_aiokafka_signs_in(site, name, mechanism):
    assert await aiokafka_round_trip(site, name, mechanism) == b"value"


async def test_aiokafka_is_told_that_its_password_is_wrong(site):
    with pytest.raises(AiokafkaError):
        await aiokafka_round_trip(site, "SASL_PLAINTEXT", "SCRAM-SHA-256", password="wrong")


def test_a_user_who_is_added_while_it_runs_can_sign_in_a_moment_later(site):
    name = fresh("user")
    credentials_before = site.librdkafka("SASL_PLAINTEXT", user=name)
    assert KafkaError._AUTHENTICATION in failure_of(credentials_before)
    site.add(name)

    def is_in():
        try:
            return AdminClient(site.librdkafka("SASL_PLAINTEXT", user=name)).list_topics(timeout=2)
        except KafkaException:
            return None

    assert until(is_in, WITHIN_S) and name in credentials.read(site.broker.data / CLUSTER_FOLDER / "users.json")


# Apache's own tools


def properties(site, password="secret", mechanism="SCRAM-SHA-512"):
    """A client.properties for the SASL_SSL listener."""
    path = site.folder / f"{fresh('client')}.properties"
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    lines = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": (
            f'org.apache.kafka.common.security.{module} required username="alice" password="{password}";'
        ),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": site.authority.path,
    }
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return path


def tool(site, name, *words, password="secret", mechanism="SCRAM-SHA-512"):
    """Status and output of one of Kafka's tools, signed in over TLS."""
    where = ["--bootstrap-server", site.addresses["SASL_SSL"]]
    command = java(name, *where, "--command-config", str(properties(site, password, mechanism)), *words)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_S)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_kafkas_tools_sign_in(site, mechanism):
    status, told = tool(site, GROUPS, "--list", mechanism=mechanism)
    assert status == 0, told


@pytest.mark.timeout(300)
def test_kafkas_tools_are_told_that_the_password_is_wrong(site):
    _, told = tool(site, GROUPS, "--list", password="wrong")
    assert "SaslAuthenticationException: Authentication failed" in told and "SCRAM-SHA-512" in told


CHANGES = [
    ("topics", "the-topic", "retention.ms=7000", "retention.ms"),
    ("brokers", "1", "group.max.size=77", "group.max.size"),
    ("groups", "the-group", "consumer.session.timeout.ms=50000", "consumer.session.timeout.ms"),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kind", "name", "change", "setting"), CHANGES)
def test_kafka_configs_changes_describes_and_takes_back(site, kind, name, change, setting):
    if kind == "topics":
        round_trip(site.librdkafka("PLAINTEXT"), name, fresh("g"))
    about = ("--entity-type", kind, "--entity-name", name)
    status, told = tool(site, CONFIGS, *about, "--alter", "--add-config", change)
    assert status == 0 and "Completed updating config" in told, told
    status, told = tool(site, CONFIGS, *about, "--describe")
    assert status == 0 and change in told, told
    status, told = tool(site, CONFIGS, *about, "--alter", "--delete-config", setting)
    assert status == 0, told
    status, told = tool(site, CONFIGS, *about, "--describe")
    assert status == 0 and change not in told, told


@pytest.mark.timeout(300)
def test_kafka_configs_says_why_a_setting_is_not_changed(site):
    words = ("--entity-type", "brokers", "--entity-name", "1", "--alter", "--add-config", "listeners=x")
    status, told = tool(site, CONFIGS, *words)
    assert status != 0 and "Cannot update these configs dynamically" in told, told
