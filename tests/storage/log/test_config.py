import pytest

from kaas.storage.log.config import DEFAULT_CONFIG
from kaas.wire.records.codec import Codec
from tests.storage.log.making import config


def test_the_defaults_are_kafkas():
    one = DEFAULT_CONFIG
    assert (one.compact, one.delete, one.codec, one.stamps_appends) == (False, True, None, False)
    assert (one.segment_bytes, one.segment_ms, one.max_message_bytes) == (1 << 30, 604_800_000, 1_048_588)
    assert (one.retention_ms, one.retention_bytes, one.flush_messages) == (604_800_000, -1, 2**63 - 1)


@pytest.mark.parametrize(
    ("policy", "compact", "delete"), [("compact", True, False), ("delete", False, True), ("compact,delete", True, True)]
)
def test_a_policy_may_compact_delete_or_both(policy, compact, delete):
    one = config(cleanup_policy=policy)
    assert (one.compact, one.delete) == (compact, delete)


@pytest.mark.parametrize(
    ("name", "codec"),
    [("producer", None), ("uncompressed", Codec.NONE), ("gzip", Codec.GZIP), ("lz4", Codec.LZ4), ("zstd", Codec.ZSTD)],
)
def test_the_compression_is_a_codec_or_the_producers(name, codec):
    assert config(compression_type=name).codec == codec


def test_times_may_be_stamped_by_the_log():
    assert config(message_timestamp_type="LogAppendTime").stamps_appends
