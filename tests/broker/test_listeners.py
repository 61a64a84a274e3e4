"""Where the broker listens, and what clients are told."""

import pytest

from kaas.broker.listeners import advertised, bound, is_reachable_by_others, parse
from kaas.broker.settings import BadSetting, Settings
from kaas.cluster.assignment import Listener

ONE = Listener(name="PLAINTEXT", host="127.0.0.1", port=9092)


def test_without_a_setting_there_is_one_listener():
    assert bound(Settings(), "127.0.0.1", 9092) == [ONE]


def test_listeners_are_named_and_take_the_place_of_host_and_port():
    settings = Settings({"listeners": "inside://127.0.0.1:1, OUTSIDE://:2,SIX://[::1]:3"})
    assert bound(settings, "0.0.0.0", 9) == [
        Listener(name="INSIDE", host="127.0.0.1", port=1),
        Listener(name="OUTSIDE", host="", port=2),
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
