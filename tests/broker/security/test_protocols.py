"""What listeners ask of connections."""

import pytest

from kaas.broker.security.protocols import Protocol


@pytest.mark.parametrize(
    ("name", "has_tls", "has_sasl"),
    [
        ("PLAINTEXT", False, False),
        ("SSL", True, False),
        ("SASL_PLAINTEXT", False, True),
        ("SASL_SSL", True, True),
    ],
)
def test_a_protocol_says_what_it_has(name, has_tls, has_sasl):
    protocol = Protocol[name]
    assert (protocol.has_tls, protocol.has_sasl) == (has_tls, has_sasl)
