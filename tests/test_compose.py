"""docker-compose.yml describes the same product: every variable exists, every command would start what it says."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from kaas.broker import __main__ as broker
from kaas.broker.listeners import advertised, bound
from kaas.broker.settings import parse
from kaasadmin.environment import VARIABLES, environment

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service.get("build")]


def command(name: str) -> list[str]:
    return shlex.split(SERVICES[name]["command"])


def test_the_parts_are_there() -> None:
    assert set(SERVICES) == {"redis", "postgres", "migrate", "broker", "web", "worker", "beat"}
    assert set(OURS) == {"migrate", "broker", "web", "worker", "beat"}


@pytest.mark.parametrize("name", OURS)
def test_every_variable_exists_and_makes_sense(name: str) -> None:
    values = {
        key: re.sub(r"\$\{\w+(?::[-?]([^}]*))?\}", r"\1", str(value))
        for key, value in SERVICES[name]["environment"].items()
    }
    assert set(values) <= {variable.name for variable in VARIABLES}
    assert environment(values).redis_url == "redis://redis:6379/0"


@pytest.mark.parametrize("name", OURS)
def test_it_waits_for_what_it_needs_and_nothing_that_is_not_there(name: str) -> None:
    assert {"redis", "postgres"} <= set(SERVICES[name]["depends_on"]) <= set(SERVICES)
    for volume in SERVICES[name]["volumes"]:
        assert volume.split(":")[0] in COMPOSE["volumes"]


def test_the_broker_listens_for_the_host_and_for_the_other_containers() -> None:
    program, dash_m, module, *rest = command("broker")
    assert (program, dash_m, module) == ("python", "-m", "kaas.broker")
    options = broker.arguments(rest)
    settings = parse(options.set)
    told = {one.name: (one.host, one.port) for one in advertised(settings, bound(settings, options.host, options.port))}
    assert told == {"PLAINTEXT": ("127.0.0.1", 9092), "INTERNAL": ("broker", 9094)}
    assert SERVICES["web"]["environment"]["KAAS_BROKER_BOOTSTRAP"] == "broker:9094"
    assert SERVICES["broker"]["ports"] == ["127.0.0.1:9092:9092"]


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_a_command_starts_a_module_that_is_installed(name: str) -> None:
    program, dash_m, module, *rest = command(name)
    assert (program, dash_m) == ("python", "-m") and importlib.util.find_spec(module) is not None
    assert "kaasadmin" in " ".join(rest)


def test_the_image_holds_every_folder_that_runs() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {part for line in lines if line.startswith("COPY") for part in line.split()[1:-1]}
    assert {"manage.py", "kaas", "kaasadmin", "groups", "offsets", "templates", "static", "requirements.txt"} <= copied


def test_secrets_have_no_default() -> None:
    environment_of_web = SERVICES["web"]["environment"]
    assert all(":?" in environment_of_web[name] for name in ("KAAS_ADMIN_PASSWORD", "KAAS_SECRET_KEY"))
