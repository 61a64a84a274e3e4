"""kaasadmin.environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from kaasadmin.environment import VARIABLES, BadVariable, environment


def test_everything_has_a_default():
    settings = environment({})
    assert (settings.web_port, settings.broker_port, settings.broker_bootstrap) == (8000, 9092, "127.0.0.1:9092")
    assert settings.data == Path("data").resolve() and settings.data.is_absolute()
    assert (settings.redis_url, settings.database_url, settings.debug, settings.https) == ("", "", False, False)
    assert "127.0.0.1" in settings.allowed_hosts and settings.history_days == 30


def test_every_variable_says_what_it_means_once():
    names = [variable.name for variable in VARIABLES]
    assert len(names) == len(set(names))
    assert all(variable.meaning.endswith(".") and len(variable.meaning.split()) > 3 for variable in VARIABLES)


def test_an_empty_variable_is_an_unset_one():
    assert environment({variable.name: " " for variable in VARIABLES}) == environment({})


def test_values_are_typed():
    settings = environment(
        {
            "KAAS_BROKER_PORT": "19092",
            "KAAS_READ_ONLY": "local, staging,",
            "KAAS_TRUSTED_ORIGINS": "https://a.example,https://b.example",
            "KAAS_BASE_PATH": "kafka/console/",
            "KAAS_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
            "KAAS_HTTPS": "1",
            "KAAS_LOG_FORMAT": "json",
            "KAAS_LAG_KEPT": "5s:10m  2m:1d",
        }
    )
    assert settings.lag_kept == ((5_000, 600_000), (120_000, 86_400_000))
    assert settings.broker_bootstrap == "127.0.0.1:19092" and settings.read_only == ("local", "staging")
    assert settings.trusted_origins == ("https://a.example", "https://b.example")
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1/128")
    assert settings.base_path == "/kafka/console" and settings.https and settings.log_format == "json"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KAAS_WEB_PORT", "http"),
        ("KAAS_WEB_PORT", "0"),
        ("KAAS_BROKER_PORT", "70000"),
        ("KAAS_HISTORY_DAYS", "-1"),
        ("KAAS_KAFKA_TIMEOUT_MS", "1.5"),
        ("KAAS_HTTPS", "yes"),
        ("KAAS_LOG_FORMAT", "xml"),
        ("KAAS_LOG_LEVEL", "LOUD"),
        ("KAAS_TRUSTED_PROXIES", "proxy.example"),
        ("KAAS_TRUSTED_PROXIES", "10.0.0.0/33"),
        ("KAAS_API_PER_MINUTE", "0"),
        ("KAAS_BASE_PATH", "/a/../b"),
        ("KAAS_OIDC_ISSUER", "login.example"),
        ("KAAS_OIDC_ISSUER", "http://login.example"),
        ("KAAS_OIDC_ROLES", "admins"),
        ("KAAS_OIDC_ROLES", "admins="),
        ("KAAS_BASE_PATH", "/a?b"),
        ("KAAS_LAG_KEPT", "10s"),
        ("KAAS_LAG_KEPT", "10s:1h and more"),
        ("KAAS_LAG_KEPT", "1m:1d 10s:1h"),
        ("KAAS_LAG_KEPT", "10s:1d 1m:1h"),
        ("KAAS_LAG_KEPT", "1h:10s"),
        ("KAAS_LAG_KEPT", "0s:1h"),
        ("KAAS_LAG_ROWS", "0"),
    ],
)
def test_a_value_that_cannot_be_used_names_its_variable(name, value):
    with pytest.raises(BadVariable, match=name):
        environment({name: value})


def test_a_provider_comes_whole_or_not_at_all():
    given = {
        "KAAS_OIDC_ISSUER": "https://login.example/realm",
        "KAAS_OIDC_CLIENT_ID": "console",
        "KAAS_OIDC_ROLES": "a=b=admin, *=viewer",
    }
    assert environment(given).oidc_roles == (("a=b", "admin"), ("*", "viewer"))
    for missing in ("KAAS_OIDC_CLIENT_ID", "KAAS_OIDC_ROLES"):
        with pytest.raises(BadVariable, match=missing):
            environment({**given, missing: ""})
    assert environment({**given, "KAAS_OIDC_ISSUER": "http://localhost:8080"}).oidc_issuer == "http://localhost:8080"
