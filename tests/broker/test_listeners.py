"""Where the broker listens, and what clients are told."""

import pytest

from kaas.broker.listeners import advertised, bound, danger, is_reachable_by_others, parse, protocol_of, protocols
from kaas.broker.security.protocols import Protocol
from kaas.broker.settings import BadSetting, Settings
from kaas.cluster.assignment import Listener

ONE = Listener(name="PLAINTEXT", host="127.0.0.1", port=9092)


def test_without_a_setting_there_is_one_listener():
    assert bound(Settings(), "127.0.0.1", 9092) == [ONE]


def test_listeners_are_named_and_take_the_place_of_host_and_port():
    settings = Settings({"listeners": "inside://127.0.0.1:1, OUT_SIDE://:2,SIX://[::1]:3"})
    assert bound(settings, "0.0.0.0", 9) == [
        Listener(name="INSIDE", host="127.0.0.1", port=1),
        Listener(name="OUT_SIDE", host="", port=2),
        Listener(name="SIX", host="::1", port=3),
    ]


@pytest.mark.parametrize(
    "text", ["127.0.0.1:9092", "PLAINTEXT://host", "PLAINTEXT://host:port", "A://h:1,A://h:2", "a://h:99999"]
)
def test_a_listener_that_cannot_be_is_refused(text):
    with pytest.raises(BadSetting, match="listeners"):
        parse(text, "listeners")


def test_clients_are_told_where_it_listens_unless_another_address_is_advertised():
    other = Listener(name="OTHER", host="127.0.0.1", port=9093)
    settings = Settings({"advertised.listeners": "OTHER://example.org:443"})
    assert advertised(Settings(), [ONE, other]) == [ONE, other]
    assert advertised(settings, [ONE, other]) == [ONE, Listener(name="OTHER", host="example.org", port=443)]


def test_an_advertised_listener_must_be_one_of_the_listeners():
    with pytest.raises(BadSetting, match="STRANGE is not among listeners"):
        advertised(Settings({"advertised.listeners": "STRANGE://h:1"}), [ONE])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_a_listener_on_loopback_is_for_this_machine_alone(host):
    assert not is_reachable_by_others(Listener(name="PLAINTEXT", host=host, port=1))


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "example.org", ""])
def test_a_listener_that_others_can_reach_is_known(host):
    assert is_reachable_by_others(Listener(name="PLAINTEXT", host=host, port=1))


def test_a_listener_named_like_a_protocol_has_that_protocol():
    assert [protocol_of(Settings(), protocol.name) for protocol in Protocol] == list(Protocol)


def test_a_map_says_how_connections_of_a_listener_are_protected():
    settings = Settings({"listener.security.protocol.map": "inside:plaintext, OUTSIDE:SASL_SSL"})
    assert protocols(settings) == {"INSIDE": Protocol.PLAINTEXT, "OUTSIDE": Protocol.SASL_SSL}
    assert protocol_of(settings, "OUTSIDE") is Protocol.SASL_SSL
    with pytest.raises(BadSetting, match="no protocol for the listener OTHER"):
        protocol_of(settings, "OTHER")


def test_without_a_map_a_name_that_is_no_protocol_means_plaintext():
    assert protocol_of(Settings(), "INSIDE") is Protocol.PLAINTEXT


@pytest.mark.parametrize("text", ["INSIDE", "INSIDE:TLS", ":SSL:"])
def test_a_map_that_cannot_be_is_refused(text):
    with pytest.raises(BadSetting, match=r"listener\.security\.protocol\.map"):
        protocols(Settings({"listener.security.protocol.map": text}))


FAR = Listener(name="FAR", host="0.0.0.0", port=1)


@pytest.mark.parametrize(
    ("protocol", "client_auth", "words"),
    [
        (Protocol.PLAINTEXT, "none", "anybody"),
        (Protocol.SSL, "none", "anybody"),
        (Protocol.SSL, "requested", "anybody"),
        (Protocol.SSL, "required", None),
        (Protocol.SASL_PLAINTEXT, "none", "can be read on its way"),
        (Protocol.SASL_SSL, "none", None),
    ],
)
def test_a_listener_that_protects_nothing_is_said_aloud(protocol, client_auth, words):
    said = danger(FAR, protocol, client_auth, has_rules=False)
    assert said is None if words is None else words in said
    assert danger(ONE, protocol, client_auth, has_rules=False) is None


def test_what_anybody_may_do_depends_on_whether_there_are_rules():
    assert danger(FAR, Protocol.PLAINTEXT, "none", has_rules=False).endswith("everything")
    assert "User:ANONYMOUS" in danger(FAR, Protocol.PLAINTEXT, "none", has_rules=True)
