"""The table of settings, and what each of them takes."""

import pytest

from kaas.broker.settings_table import TABLE, BadSetting, Setting, known, list_items


def test_a_list_is_cut_at_its_commas():
    assert list_items(" a, b,,c ") == ["a", "b", "c"] and list_items(" ") == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("log.cleanup.policy", "delete,shred", "delete or compact"),
        ("log.cleanup.policy", "", "delete or compact"),
        ("compression.type", "zip", "uncompressed or"),
        ("ssl.keystore.type", "JKS", "PEM is taken"),
        ("super.users", "alice", "not of the form"),
        ("max.connections.per.ip.overrides", "here:3", "IPv4 or IPv6"),
        ("ssl.principal.mapping.rules", "RULE:(/x/", "no pattern"),
        ("max.connections", "-1", "0 or more"),
        ("num.partitions", "", "a number"),
        ("group.consumer.assignors", "uniform,sticky", "uniform or range"),
        ("group.consumer.migration.policy", "both", "bidirectional or"),
        ("group.coordinator.rebalance.protocols", "consumer", "classic cannot be left out"),
        ("group.coordinator.rebalance.protocols", "classic,streams", "classic or consumer"),
    ],
)
def test_what_cannot_be_is_refused(name, text, words):
    with pytest.raises(BadSetting, match=words) as refused:
        TABLE[name].parse(text)
    assert str(refused.value).startswith(name)


def test_a_list_may_hold_several_choices():
    assert TABLE["log.cleanup.policy"].parse(" compact, delete ") == "compact, delete"


def test_a_setting_may_be_for_one_listener():
    assert known("listener.name.outside.ssl.client.auth") is TABLE["ssl.client.auth"]


@pytest.mark.parametrize("name", ["listener.name.outside.num.partitions", "listener.name.outside", "listener.name.x.y"])
def test_what_is_not_of_listeners_cannot_be_for_one(name):
    with pytest.raises(BadSetting, match="one listener"):
        known(name)


def test_what_does_not_exist_is_refused_with_what_looks_like_it():
    with pytest.raises(BadSetting, match=r"did you mean max\.connections"):
        known("max.conections")


def test_passwords_are_secrets():
    secret = {name for name, row in TABLE.items() if row.is_secret}
    assert secret == {
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.key.password",
        "ssl.truststore.certificates",
    }


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_a_row_is_whole(row):
    assert isinstance(row, Setting) and row.meaning and not (row.dynamic and row.per_listener)
