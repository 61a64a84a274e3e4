"""The readers of offsets.decoding: avro, protobuf, and JSON; all of them keep one contract."""

from __future__ import annotations

import base64
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as some

from offsets.decoding.avro import RECURSIVE_BYTES, avro_reader
from offsets.decoding.framing import Undecodable
from offsets.decoding.protobuf import protobuf_reader
from offsets.decoding.registry import Schema
from offsets.decoding.values import json_reader


def avro(text: Any, *references: tuple[str, Any]) -> Schema:
    rows = tuple((name, Schema(kind="AVRO", text=json.dumps(one))) for name, one in references)
    return Schema(kind="AVRO", text=json.dumps(text), references=rows)


def avro_bytes(text: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(text), value)
    return stream.getvalue()


def proto_file(name: str = "order.proto") -> descriptor_pb2.FileDescriptorProto:
    """`message Order { string id = 1; int64 cents = 2; Timestamp at = 3; message Line { string sku = 1; } }`"""
    file = descriptor_pb2.FileDescriptorProto(name=name, package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=9, label=1)
    order.field.add(name="cents", number=2, type=3, label=1)
    order.field.add(name="at", number=3, type=11, label=1, type_name=".google.protobuf.Timestamp")
    order.nested_type.add(name="Line").field.add(name="sku", number=1, type=9, label=1)
    file.message_type.add(name="Bill").field.add(name="id", number=1, type=9, label=1)
    return file


def proto(file: descriptor_pb2.FileDescriptorProto, *references: tuple[str, Schema]) -> Schema:
    text = base64.b64encode(file.SerializeToString()).decode()
    return Schema(kind="PROTOBUF", text=text, references=references)


def proto_bytes(type_name: str, **fields: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(proto_file().SerializeToString())
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName(type_name))(**fields)
    return message.SerializeToString()


ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "string"}, {"name": "cents", "type": "long"}],
}


class ReaderContract:
    """What holds for the reader of every kind: `good` (schema, bytes, value, name) reads; nothing else does any harm."""

    make: Any
    schema: Schema
    good: bytes
    value: str
    name: str

    def test_a_value_is_read_as_json(self):
        text, name = type(self).make(self.schema)(self.good)
        assert text == self.value and name == self.name

    def test_a_reader_reads_more_than_once(self):
        reader = type(self).make(self.schema)
        assert reader(self.good) == reader(self.good)

    def test_a_value_that_is_cut_off_is_undecodable(self):
        with pytest.raises(Undecodable):
            type(self).make(self.schema)(self.good[:-1])

    def test_other_bytes_are_read_or_undecodable(self):
        reader = type(self).make(self.schema)

        @given(some.binary(max_size=64))
        def holds(body):
            try:
                text, _ = reader(body)
            except Undecodable:
                return
            json.loads(text)

        holds()


class TestAvro(ReaderContract):
    make = staticmethod(avro_reader)
    schema = avro(ORDER)
    good = avro_bytes(ORDER, {"id": "é", "cents": 2**60})
    value = '{"id": "é", "cents": 1152921504606846976}'
    name = "shop.Order"


class TestProtobuf(ReaderContract):
    make = staticmethod(protobuf_reader)
    schema = proto(proto_file())
    good = b"\0" + proto_bytes("shop.Order", id="é", cents=2**60)
    value = '{"id": "é", "cents": "1152921504606846976"}'
    name = "shop.Order"


class TestJson(ReaderContract):
    make = staticmethod(json_reader)
    schema = Schema(kind="JSON", text="{}")
    good = b'{"id": 1}'
    value = '{"id": 1}'
    name = ""

    def test_a_bare_value_is_json_here(self):
        assert json_reader(self.schema)(b'"word"') == ('"word"', "")

    @pytest.mark.parametrize("body", [b"word", b"\xff", b"[" * 100_000, b""])
    def test_what_is_no_json_is_undecodable(self, body):
        with pytest.raises(Undecodable):
            json_reader(self.schema)(body)


# What is Avro's own


def test_avro_types_that_json_has_no_word_for_are_text():
    fields = {
        "raw": ("bytes", b"\x00\xff", "00ff"),
        "price": ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.25"), "1.25"),
        "at": (
            {"type": "long", "logicalType": "timestamp-millis"},
            datetime(2026, 1, 2, tzinfo=UTC),
            "2026-01-02T00:00:00+00:00",
        ),
    }
    shape = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, (t, _, _) in fields.items()]}
    text, _ = avro_reader(avro(shape))(avro_bytes(shape, {n: value for n, (_, value, _) in fields.items()}))
    assert json.loads(text) == {n: shown for n, (_, _, shown) in fields.items()}


def test_avro_schemas_that_refer_to_others_are_read():
    line = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}
    outer = {"type": "record", "name": "Cart", "fields": [{"name": "line", "type": "shop.Line"}]}
    whole = {**outer, "fields": [{"name": "line", "type": line}]}
    text, name = avro_reader(avro(outer, ("line", line)))(avro_bytes(whole, {"line": {"sku": "a"}}))
    assert json.loads(text) == {"line": {"sku": "a"}} and name == "Cart"


@pytest.mark.parametrize(("shape", "name"), [("string", "string"), ({"type": "array", "items": "long"}, "array")])
def test_avro_values_need_not_be_records(shape, name):
    value = "a" if name == "string" else [1]
    assert avro_reader(avro(shape))(avro_bytes(shape, value)) == (json.dumps(value), name)


@pytest.mark.parametrize("text", ["", "{", '{"type": "nothing"}', "[" * 5_000, "7"])
def test_what_is_no_avro_schema_is_undecodable(text):
    with pytest.raises(Undecodable):
        avro_reader(Schema(kind="AVRO", text=text))


NOTHING = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "null"}]}
EMPTY = {"type": "fixed", "name": "F", "size": 0}


@pytest.mark.parametrize("items", ["null", NOTHING, EMPTY])
def test_lists_of_nothing_are_not_read(items):
    with pytest.raises(Undecodable, match="take no bytes"):
        avro_reader(
            avro({"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]})
        )


def test_a_deep_value_of_a_recursive_schema_is_not_followed():
    chain = {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["null", "L"]}]}
    reader = avro_reader(avro(chain))
    assert reader(b"\2\0") == ('{"n": {"n": null}}', "L")
    with pytest.raises(Undecodable, match="recursive"):
        reader(b"\2" * 1_000_000 + b"\0")
    with pytest.raises(Undecodable):
        reader(b"\2" * (RECURSIVE_BYTES - 1) + b"\0")


# What is Protobuf's own


def test_protobuf_types_of_the_library_are_at_hand():
    at = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    text, _ = protobuf_reader(proto(proto_file()))(b"\0" + proto_bytes("shop.Order", at=at))
    assert json.loads(text) == {"at": "1970-01-01T00:01:00Z"}


@pytest.mark.parametrize(
    ("path", "type_name", "value"),
    [(b"\2\2", "shop.Bill", {"id": "b"}), (b"\4\0\0", "shop.Order.Line", {"sku": "s"})],
)
def test_the_path_leads_to_the_type(path, type_name, value):
    text, name = protobuf_reader(proto(proto_file()))(path + proto_bytes(type_name, **value))
    assert (json.loads(text), name) == (value, type_name)


@pytest.mark.parametrize("path", [b"\2\4", b"\4\0\2", b"\2\1"])
def test_a_path_to_no_type_is_undecodable(path):
    with pytest.raises(Undecodable, match="no type"):
        protobuf_reader(proto(proto_file()))(path)


def test_protobuf_schemas_that_import_others_are_read():
    outer = descriptor_pb2.FileDescriptorProto(name="x", syntax="proto3")
    outer.dependency.append("order.proto")
    outer.message_type.add(name="Cart").field.add(name="order", number=1, type=11, label=1, type_name=".shop.Order")
    schema = proto(outer, ("order.proto", proto(proto_file("called otherwise"))))
    order = proto_bytes("shop.Order", id="a")
    text, name = protobuf_reader(schema)(b"\0\x0a" + bytes([len(order)]) + order)
    assert json.loads(text) == {"order": {"id": "a"}} and name == "Cart"


@pytest.mark.parametrize("text", ["", 'syntax = "proto3";', "!", "AAAA", base64.b64encode(b"\xff" * 40).decode()])
def test_what_are_no_descriptors_is_undecodable(text):
    with pytest.raises(Undecodable):
        protobuf_reader(Schema(kind="PROTOBUF", text=text))(b"\0")


def test_two_versions_of_a_type_do_not_meet():
    newer = proto_file()
    newer.message_type[0].field[1].name = "pence"
    body = b"\0" + proto_bytes("shop.Order", cents=1)
    assert [protobuf_reader(proto(one))(body)[0] for one in (proto_file(), newer)] == [
        '{"cents": "1"}',
        '{"pence": "1"}',
    ]
