"""The commands of docs/OPERATIONS.md that secure a listener do so, as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.broker import ROOT
from tests.support.ports import free_port
from tests.support.require import require
from tests.support.waiting import until

PAGE = ROOT / "docs" / "OPERATIONS.md"
BLOCK = re.compile(r"<!-- the test of this page runs these as they stand -->\n```sh\n(.*?)```", re.DOTALL)
PORT = "9093"
READY_S = 60


def commands(port):
    """The block of the page; a free port takes the place of the one that stands there."""
    (block,) = BLOCK.findall(PAGE.read_text())
    assert block.count("\n") == 5
    return block.replace(PORT, str(port))


@pytest.mark.timeout(180)
def test_a_listener_with_tls_and_scram_comes_from_nothing(tmp_path):
    require("sh", "openssl")
    port, data = free_port(), tmp_path / "data"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "DATA": str(data), "PATH": path}
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(
            ["sh", "-e", "-c", commands(port)], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        options = {
            "bootstrap.servers": f"localhost:{port}",
            "broker.address.family": "v4",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(data / "cert.pem"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "alice",
            "log_level": 0,
        }

        def topics(password):
            assert running.poll() is None, (tmp_path / "log").read_text()
            try:
                return AdminClient({**options, "sasl.password": password}).list_topics(timeout=2)
            except KafkaException:
                return None

        until(lambda: (data / "client.properties").exists(), READY_S)
        assert until(lambda: topics("alice-secret"), READY_S).brokers
        assert topics("wrong") is None
        assert b"alice-secret" not in (data / "__cluster" / "users.json").read_bytes()
        assert "anybody" not in (tmp_path / "log").read_text()
    finally:
        running.terminate()
        running.wait(30)
