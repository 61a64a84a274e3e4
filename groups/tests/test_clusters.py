"""groups.clusters."""

from __future__ import annotations

import json

import pytest

from groups.clusters import BadClusters, Cluster, clusters_from


def read(described=None, read_only=()):
    text = described if isinstance(described, str) else json.dumps(described) if described else ""
    return clusters_from(text=text, local_bootstrap="127.0.0.1:9092", read_only=read_only)


def test_the_embedded_cluster_is_always_there():
    assert read() == {"local": Cluster(name="local", bootstrap="127.0.0.1:9092", source="feed")}


def test_others_stand_beside_it():
    rows = read(
        {"prod": {"bootstrap": "k1:9092,k2:9092", "read": "tail", "librdkafka": {"security.protocol": "SASL_SSL"}}}
    )
    assert list(rows) == ["local", "prod"]
    assert rows["prod"].source == "tail" and rows["prod"].librdkafka["security.protocol"] == "SASL_SSL"
    assert read({"prod": {"bootstrap": "k:1"}})["prod"].source == "poll"


def test_each_may_have_a_schema_registry():
    rows = read({"prod": {"bootstrap": "k:1", "schema_registry": "https://user:secret@registry:8081"}})
    assert rows["prod"].schema_registry.endswith("@registry:8081") and "secret" not in repr(rows["prod"])
    local = clusters_from(text="", local_bootstrap="k:1", read_only=(), local_registry="http://registry")["local"]
    assert local.schema_registry == "http://registry"


def test_they_may_stand_in_a_file(tmp_path):
    path = tmp_path / "clusters.json"
    path.write_text('{"prod": {"bootstrap": "k:1"}}')
    assert "prod" in read(str(path))


def test_a_cluster_is_read_only_by_name_or_by_itself():
    rows = read({"a": {"bootstrap": "k:1", "read_only": True}, "b": {"bootstrap": "k:1"}}, read_only=["local", "b"])
    assert all(row.read_only for row in rows.values())


@pytest.mark.parametrize(
    ("described", "why"),
    [
        ("{", "not JSON"),
        ("/nowhere/clusters.json", "cannot be read"),
        ({"Prod": {"bootstrap": "k:1"}}, "no name"),
        ({"local": {"bootstrap": "k:1"}}, "no name"),
        ({"a/b": {"bootstrap": "k:1"}}, "no name"),
        ({"a": "k:1"}, "expected an object"),
        ({"a": {"bootstrap": "k:1", "colour": "blue"}}, "not colour"),
        ({"a": {}}, "bootstrap"),
        ({"a": {"bootstrap": 9092}}, "bootstrap"),
        ({"a": {"bootstrap": "k:1", "read": "feed"}}, "read is"),
        ({"a": {"bootstrap": "k:1", "read_only": "yes"}}, "read_only"),
        ({"a": {"bootstrap": "k:1", "librdkafka": {"x": 1}}}, "librdkafka"),
        ({"a": {"bootstrap": "k:1", "schema_registry": "file:///etc/passwd"}}, "begins with http"),
        ({"a": {"bootstrap": "k:1", "schema_registry": "https://"}}, "begins with http"),
        ({"a": {"bootstrap": "k:1", "schema_registry": 7}}, "begins with http"),
    ],
)
def test_a_description_that_cannot_be_used_says_why(described, why):
    with pytest.raises(BadClusters, match=why):
        read(described)


def test_a_list_is_no_description_and_an_unknown_name_cannot_be_read_only(tmp_path):
    path = tmp_path / "clusters.json"
    path.write_text("[]")
    with pytest.raises(BadClusters, match="an object"):
        read(str(path))
    with pytest.raises(BadClusters, match="ghost"):
        read(read_only=["ghost"])
