"""groups.api.examples, and that every operation has one that fits its shape."""

from __future__ import annotations

import jsonschema
import pytest
from drf_spectacular.generators import SchemaGenerator

from groups.api.examples import example_of

COMPONENTS = {
    "Part": {"type": "object", "properties": {"topic": {"type": "string"}, "n": {"type": "integer"}}},
    "Colour": {"type": "string", "enum": [None, "red"]},
}
PART = {"$ref": "#/components/schemas/Part"}


@pytest.mark.parametrize(
    ("shape", "name", "example"),
    [
        ({"type": "string"}, "topic", "orders"),
        ({"type": "integer"}, "topic", 1),
        ({"type": "string", "format": "date-time"}, "expires_at", "2099-12-31T12:00:00.000+00:00"),
        ({"type": "string", "format": "date-time"}, "topic", "2026-01-31T12:00:00.000+00:00"),
        ({"type": "string", "nullable": True}, "error", None),
        ({"type": "string", "pattern": "^[0-9]+$"}, "id", "1"),
        ({"type": "string"}, "error", "text"),
        ({"$ref": "#/components/schemas/Colour"}, "state", "red"),
        ({"allOf": [PART], "nullable": True}, "part", {"topic": "orders", "n": 1}),
        ({"type": "array", "items": {"type": "string"}}, "topics", ["orders"]),
        ({"type": "array", "items": PART}, "topics", [{"topic": "orders", "n": 1}]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "counters", {"Stable": 1}),
        ({"type": "object", "additionalProperties": {}}, "anything", {"Stable": None}),
        ({}, "value", -50),
        ({}, "nobody knows", None),
    ],
)
def test_an_example_fits_its_shape(shape, name, example):
    assert example_of(shape, COMPONENTS, name) == example


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


def bodies(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for name, body in found.items():
                if content := body.get("content", {}).get("application/json"):
                    yield f"{method} {path} {name}", content


def nulls(node):
    """OpenAPI 3.0's `nullable` in JSON Schema's words."""
    if isinstance(node, list):
        return [nulls(one) for one in node]
    if not isinstance(node, dict):
        return node
    node = {key: nulls(value) for key, value in node.items()}
    return {"anyOf": [node, {"type": "null"}]} if node.pop("nullable", False) else node


def test_every_body_has_an_example_that_fits(document):
    found = list(bodies(document))
    assert len(found) > 100
    for name, content in found:
        shape = nulls({"components": document["components"], **content["schema"]})
        jsonschema.Draft7Validator(shape).validate(content["example"]), name


def test_every_failure_shows_itself(document):
    for name, content in bodies(document):
        status = name.rpartition(" ")[2]
        if status == "404":
            assert content["example"]["kind"] == "not_found"
        if status == "429":
            assert content["example"]["retriable"] is True


def test_every_address_can_be_tried_as_it_stands(document):
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                assert not parameter.get("required") or "example" in parameter
