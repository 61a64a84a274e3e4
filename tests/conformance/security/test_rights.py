"""Who has no rights, or only some, hears of our broker what it hears of Apache's with its own authoriser.

The same user signs in to both and sends the same requests; the error codes of all answers are compared. First nothing is
allowed, so that each API shows which right it asks for first; then everything but topics.
"""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from kaas.broker.security import credentials, rules
from kaas.broker.security.operations import NEEDS
from kaas.storage.files import CLUSTER_FOLDER
from kaas.wire.apis import APIS, DESCRIBE_TRANSACTIONS, FIND_COORDINATOR, HEARTBEAT, INIT_PRODUCER_ID, OFFSET_COMMIT
from tests.broker.security.requests import SAMPLES, TOPIC
from tests.broker.security.test_operations import codes_in
from tests.conformance.oracle.calls import ask, create_topic
from tests.conformance.oracle.wire import Client
from tests.support.apache import ApacheBroker, java
from tests.support.broker import BrokerProcess
from tests.support.ports import free_port
from tests.support.signing_in import FEW_ITERATIONS
from tests.support.waiting import until

ACLS = "org.apache.kafka.tools.AclCommand"
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
SASL = {"sasl.enabled.mechanisms": "PLAIN", "super.users": "User:ANONYMOUS"}
GUARDED = [key for key, needs in NEEDS.items() if needs]
READABLE = [key for key in GUARDED if key != DESCRIBE_TRANSACTIONS.key]
"""An id without a transaction is told by Apache with a time before all times, which cannot be read here."""
WAKING = ((FIND_COORDINATOR, 0), (OFFSET_COMMIT, 0), (FIND_COORDINATOR, 1), (INIT_PRODUCER_ID, 0))
"""Samples that a broker answers well when its coordinators are there."""


class Site(NamedTuple):
    """Addresses of everybody's listener, and of that where one signs in; the file of rules, of our broker."""

    anybody: str
    signing_in: str
    rules: Path | None = None


@pytest.fixture(scope="module")
def apache(tmp_path_factory):
    broker = ApacheBroker(tmp_path_factory.mktemp("rights") / "apache")
    signing_in = f"127.0.0.1:{free_port()}"
    broker.settings |= {
        **SASL,
        "listeners": (
            f"PLAINTEXT://{broker.address},SASL_PLAINTEXT://{signing_in},CONTROLLER://127.0.0.1:{broker.controller_port}"
        ),
        "advertised.listeners": f"PLAINTEXT://{broker.address},SASL_PLAINTEXT://{signing_in}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": LOGIN,
    }
    with broker:
        yield Site(broker.address, signing_in)


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    data = tmp_path_factory.mktemp("rights") / "ours"
    credentials.add(data / CLUSTER_FOLDER / credentials.FILE_NAME, "alice", "secret", FEW_ITERATIONS)
    (data / CLUSTER_FOLDER / rules.FILE_NAME).write_text(json.dumps({"rules": []}))
    anybody, signing_in = (f"127.0.0.1:{free_port()}" for _ in range(2))
    listeners = f"PLAINTEXT://{anybody},SASL_PLAINTEXT://{signing_in}"
    with BrokerProcess(data, {**SASL, "listeners": listeners}, port=int(anybody.split(":")[1])):
        yield Site(anybody, signing_in, data / CLUSTER_FOLDER / rules.FILE_NAME)


def answers_well(c, name, version, values):
    return codes_in(ask(c, name, version, **values)) == {0}


def filled(address):
    """What the requests are about is there."""
    with Client(address) as c:
        for name in (TOPIC, "other"):
            create_topic(c, name=name)
        for api, number in WAKING:
            version, values = SAMPLES[api.key][number]
            until(lambda api=api, version=version, values=values: answers_well(c, api.name, version, values), 60)


def heard(address, *keys):
    """The codes that alice hears, by API."""
    found = {}
    for key in keys or GUARDED:
        name = APIS[key].name
        with Client(address) as c:
            assert ask(c, "SaslHandshake", 1, mechanism="PLAIN").error_code == 0
            assert ask(c, "SaslAuthenticate", 1, auth_bytes=b"\0alice\0secret").error_code == 0
            found[name] = [sorted(codes_in(ask(c, name, version, **values))) for version, values in SAMPLES[key]]
    return found


def allow_all_but_topics(site):
    if site.rules is None:
        about = ("--allow-principal", "User:alice", "--operation", "All", "--group", "*", "--transactional-id", "*")
        command = java(ACLS, "--bootstrap-server", site.anybody, "--add", *about, "--cluster")
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    else:
        about = {"permission_type": "ALLOW", "principal": "User:alice", "operations": ["ALL"], "resource_name": "*"}
        rows = [{**about, "resource_type": kind} for kind in ("GROUP", "TRANSACTIONAL_ID", "CLUSTER")]
        other = site.rules.with_name("other")
        other.write_text(json.dumps({"rules": rows}))
        other.rename(site.rules)
    until(lambda: heard(site.signing_in, HEARTBEAT.key)["Heartbeat"] != [[30]], 30)


def differences(apache, ours, *keys):
    of_apache, of_ours = heard(apache.signing_in, *keys), heard(ours.signing_in, *keys)
    return {name: (of_apache[name], codes) for name, codes in of_ours.items() if codes != of_apache[name]}


@pytest.mark.timeout(400)
def test_who_may_nothing_and_who_may_all_but_topics_hears_the_same_of_both(apache, ours):
    for site in (apache, ours):
        filled(site.anybody)
    assert differences(apache, ours) == {}
    for site in (apache, ours):
        allow_all_but_topics(site)
    assert differences(apache, ours, *READABLE) == {}
