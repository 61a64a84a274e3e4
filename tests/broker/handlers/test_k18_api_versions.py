import struct

import pytest

from kaas.broker import features
from kaas.broker.features import Feature
from kaas.broker.handlers import HANDLERS, MODULES, k18_api_versions, served
from kaas.broker.handlers.k18_api_versions import is_proper, table, unknown_version_body
from kaas.wire.apis import API_VERSIONS, APIS
from kaas.wire.decode import decode
from tests.support.in_process import serving

CLIENT = {"client_software_name": "a-client", "client_software_version": "1.0"}


@pytest.mark.parametrize("version", range(5))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(API_VERSIONS, version, **CLIENT)
        assert answer.error_code == 0
        told = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
        assert told == {api.key: (api.lowest_advertised, api.max_version) for api in APIS.values()}


def test_what_is_advertised_is_what_is_served():
    assert {api.key for api in served()} == set(HANDLERS) == set(APIS)
    assert all(APIS[key] is module.API for key, module in MODULES.items())


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("a", ""), ("two words", "1"), ("-a", "1"), ("a", "1_0"), ("ü", "1")]
)
async def test_a_client_that_does_not_say_its_name_properly_is_told_so(tmp_path, name, version):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(API_VERSIONS, 3, client_software_name=name, client_software_version=version)
        assert (int(answer.error_code), answer.api_keys) == (42, ())
    assert not is_proper(name, version)


def test_an_unknown_version_is_answered_with_the_versions_of_this_api():
    answer = decode(API_VERSIONS.key, 0, "response", unknown_version_body())
    assert int(answer.error_code) == 35
    assert [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys] == [(18, 0, 4)]


async def test_an_unknown_version_is_answered_on_the_wire(tmp_path):
    async with serving(tmp_path) as peer:
        peer._writer.write(struct.pack(">ihhihb", 11, 18, 99, 5, -1, 0))
        assert await peer.payload() == struct.pack(">i", 5) + unknown_version_body()


@pytest.mark.parametrize(("version", "names"), [(3, {"b"}), (4, {"a", "b"})])
def test_features_whose_lowest_level_is_0_are_left_out_before_version_4(monkeypatch, version, names):
    """Older Java clients fail on them (KAFKA-17011)."""
    rows = (
        Feature(name="a", min_level=0, max_level=1, level=1),
        Feature(name="b", min_level=1, max_level=2, level=2),
        Feature(name="off", min_level=1, max_level=1, level=0),
    )
    monkeypatch.setattr(k18_api_versions, "FEATURES", rows)
    told = table(version)
    assert {row["name"] for row in told["supported_features"]} - {"off"} == names
    assert [(row["name"], row["max_version_level"]) for row in told["finalized_features"]] == [("a", 1), ("b", 2)]


def test_finalized_features_are_those_in_force():
    told = {row["name"]: row["max_version_level"] for row in table(4)["finalized_features"]}
    assert told == {feature.name: feature.level for feature in features.FEATURES if feature.level}
