"""How many connections there may be."""

import pytest

from kaas.broker.security.limits import Admission, address_limits

FREE = {"most": 100, "per_address": 100, "overrides": ""}


def full(*addresses):
    admission = Admission()
    for address in addresses:
        admission.came(address)
    return admission


def test_there_is_room_until_there_is_not():
    admission = full("a", "b")
    assert admission.refusal("c", **{**FREE, "most": 3}) is None
    assert admission.refusal("c", **{**FREE, "most": 2}) == "max.connections is reached"


def test_an_address_has_its_own_share():
    admission = full("a", "a")
    assert admission.refusal("a", **{**FREE, "per_address": 2}) == "max.connections.per.ip is reached"
    assert admission.refusal("b", **{**FREE, "per_address": 2}) is None


@pytest.mark.parametrize(("overrides", "may"), [("10.0.0.1:3", True), ("10.0.0.1:2", False), ("10.0.0.2:9", False)])
def test_an_address_with_a_number_of_its_own_keeps_to_that(overrides, may):
    admission = full("10.0.0.1", "10.0.0.1")
    refusal = admission.refusal("10.0.0.1", **{**FREE, "per_address": 2, "overrides": overrides})
    assert (refusal is None) is may


def test_who_leaves_makes_room():
    admission = full("a", "a")
    admission.left("a")
    assert len(admission) == 1 and admission.refusal("a", **{**FREE, "per_address": 2}) is None
    admission.left("a")
    assert len(admission) == 0


def test_limits_of_addresses_are_read():
    assert address_limits("10.0.0.1:3, [::1]:0,") == {"10.0.0.1": 3, "::1": 0}
    assert address_limits("") == {}


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:x", "host:3", ":3", "10.0.0.1:-1"])
def test_limits_that_cannot_be_are_refused(text):
    with pytest.raises(ValueError):
        address_limits(text)
