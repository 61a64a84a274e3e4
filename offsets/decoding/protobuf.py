"""Protobuf values, read by the protobuf library.

Job: a schema's descriptors once to a reader, a value to JSON text.
Rules: each schema has a pool of its own, so that two versions of a type do not meet. Depth is limited by the library.
Must not know: registries, frames but for the path to a message's type.
Source: Protocol Buffers encoding and ProtoJSON.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    json_format,
    message_factory,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pool import DescriptorPool

from offsets.decoding.framing import Undecodable, message_path
from offsets.decoding.registry import Schema

WELL_KNOWN = (
    source_context_pb2,
    any_pb2,
    type_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
"""The files that every schema may import without a reference, each after those that it imports itself."""

Reader = Callable[[bytes], tuple[str, str]]
"""Bytes to (JSON text, name of the type)."""


def protobuf_reader(schema: Schema) -> Reader:
    """The reader of a schema, whose values begin with the path to their type.

    Raises Undecodable for descriptors that do not stand on their own.
    """
    pool = DescriptorPool()
    for module in WELL_KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    try:
        for name, reference in schema.references:
            pool.AddSerializedFile(_file(reference, name).SerializeToString())
        file = pool.AddSerializedFile(_file(schema, "value.proto").SerializeToString())
        types = _types(file, schema)
    except Exception as problem:  # the library raises TypeError, ValueError and its own errors alike
        raise Undecodable("The registry gave no descriptors that stand on their own for its schema.") from problem
    return lambda body: _read(types, body)


def _file(schema: Schema, name: str) -> descriptor_pb2.FileDescriptorProto:
    """The descriptors of a schema, under the name that others import them by."""
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.text, validate=True))
    file.name = name
    return file


def _types(file: Any, schema: Schema) -> list[Any]:
    """The file's types in their order: the path counts in it."""
    ordered = _file(schema, "value.proto").message_type
    return [file.message_types_by_name[one.name] for one in ordered]


def _read(types: list[Any], body: bytes) -> tuple[str, str]:
    path, encoded = message_path(body)
    descriptor = _descriptor(types, path)
    try:
        message = message_factory.GetMessageClass(descriptor).FromString(encoded)
        text = json_format.MessageToJson(message, indent=None, ensure_ascii=False, preserving_proto_field_name=True)
    except Exception as problem:  # as above: bytes that are not of this type end in any kind of error
        raise Undecodable(f"It does not fit its Protobuf type {descriptor.full_name}.") from problem
    return text, descriptor.full_name


def _descriptor(types: list[Any], path: list[int]) -> Any:
    """The type at a path."""
    found = None
    for index in path:
        if not 0 <= index < len(types):
            raise Undecodable("Its schema has no type at its message indexes.")
        found = types[index]
        types = list(found.nested_types)
    return found
