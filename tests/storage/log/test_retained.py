import pytest

from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.retained import AbortedRanges, KeyOffsets, Retained
from kaas.wire.records.codec import Codec
from kaas.wire.records.control import Marker, MarkerKind, build_marker, read_marker
from kaas.wire.records.header import DELETE_HORIZON, NO_TIMESTAMP, read_header
from kaas.wire.records.record import Record, decode_records, delete_horizon_ms
from kaas.wire.records.rewrite import placed, stamped
from kaas.wire.records.walk import checksum_fits
from tests.storage.log.making import NOW, batch

HORIZON = NOW + 1000


def at(offset: int, data: bytes) -> bytes:
    return placed(data, read_header(data), offset, 3)


def keyed(offset: int, keys: str, **more) -> bytes:
    """A batch of one record per letter; a capital letter is a tombstone of its key."""
    values = [None if key.isupper() else f"{key}{offset}" for key in keys]
    return at(offset, batch(*values, keys=[key.lower() for key in keys], at=NOW, **more))


class Cleaner:
    """Learns all batches, then says what is left of each."""

    def __init__(self, *batches: bytes, now=NOW, aborted=(), limit=1000) -> None:
        self.batches = batches
        ranges = AbortedRanges(aborted)
        self.keys = KeyOffsets(limit)
        for data in batches:
            header = read_header(data)
            if not header.is_control and not ranges.hold(header):
                self.keys.learn(header, memoryview(data))
        self.retained = Retained(self.keys, ranges, now, now + 1000)

    def left(self) -> list[bytes | None]:
        kept = [self.retained.of(read_header(data), memoryview(data)) for data in self.batches]
        return [None if one is None else bytes(one) for one in kept]


def rows(data: bytes | None) -> list[tuple[int, str]] | None:
    if data is None:
        return None
    header = read_header(data)
    assert checksum_fits(data, 0, header)
    return [(r.offset, r.key.decode()) for r in decode_records(data, 0, header)]


def test_the_last_record_of_each_key_stays():
    left = Cleaner(keyed(0, "abc"), keyed(3, "bd"), keyed(5, "a")).left()
    assert [rows(one) for one in left] == [[(2, "c")], [(3, "b"), (4, "d")], [(5, "a")]]


def test_a_batch_of_which_everything_stays_is_the_same_bytes():
    data = keyed(4, "ab", codec=Codec.ZSTD)
    assert Cleaner(data).left() == [data]


def test_a_batch_of_which_nothing_stays_is_gone():
    assert Cleaner(keyed(0, "ab"), keyed(2, "ab")).left()[0] is None


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_keeps_its_span_its_producer_its_epoch_and_its_codec(codec):
    data = keyed(10, "abc", codec=codec, producer=7, epoch=2, sequence=30)
    left, _ = Cleaner(data, keyed(13, "ac")).left()
    before, after = read_header(data), read_header(left)
    for field in (
        "base_offset",
        "last_offset",
        "leader_epoch",
        "codec",
        "producer_id",
        "producer_epoch",
        "base_sequence",
    ):
        assert getattr(after, field) == getattr(before, field)
    assert decode_records(left, 0, after) == [Record(offset=11, timestamp=NOW, key=b"b", value=b"b10")]


def test_records_keep_the_time_that_the_log_gave_them():
    data = batch("a", "b", keys=["a", "b"], at=[5, 6])
    left, _ = Cleaner(at(0, stamped(data, read_header(data), 99)), keyed(2, "a")).left()
    assert [r.timestamp for r in decode_records(left, 0, read_header(left))] == [99]


def test_a_record_without_a_key_goes():
    assert rows(Cleaner(at(0, batch("v", "w", keys=[None, "k"]))).left()[0]) == [(1, "k")]


def test_long_keys_are_told_apart():
    data = at(0, batch("1", "2", "3", keys=["k" * 100, "k" * 99, "k" * 100]))
    assert [offset for offset, _ in rows(Cleaner(data).left()[0])] == [1, 2]


def test_a_tombstone_stays_until_its_horizon_and_hides_what_came_before():
    first, second = Cleaner(keyed(0, "ab"), keyed(2, "Ac")).left()
    assert (rows(first), rows(second)) == ([(1, "b")], [(2, "a"), (3, "c")])
    header = read_header(second)
    assert (
        delete_horizon_ms(header) == HORIZON and [r.timestamp for r in decode_records(second, 0, header)] == [NOW] * 2
    )
    assert Cleaner(second, now=HORIZON).left() == [second]
    (after,) = Cleaner(second, now=HORIZON + 1).left()
    assert rows(after) == [(3, "c")] and not read_header(after).attributes & DELETE_HORIZON


def test_the_horizon_is_written_once():
    (first,) = Cleaner(keyed(0, "A")).left()
    assert Cleaner(first, now=NOW + 500).left() == [first]
    (shorter, _) = Cleaner(keyed(0, "A"), keyed(1, "b")).left()
    assert delete_horizon_ms(read_header(shorter)) == HORIZON


def test_a_batch_that_loses_a_record_keeps_its_horizon():
    (first,) = Cleaner(keyed(0, "Ab")).left()
    left, _ = Cleaner(first, keyed(2, "b"), now=NOW + 10).left()
    assert rows(left) == [(0, "a")] and delete_horizon_ms(read_header(left)) == HORIZON


def test_there_is_room_for_a_number_of_keys():
    keys = KeyOffsets(2)
    for data in (keyed(0, "a"), keyed(1, "a")):
        keys.learn(read_header(data), memoryview(data))
        assert not keys.is_full
    keys.learn(read_header(keyed(2, "b")), memoryview(keyed(2, "b")))
    assert keys.is_full and len(keys) == 2


def ending(offset: int, kind: MarkerKind, producer: int = 1) -> bytes:
    data = build_marker(
        Marker(kind=kind, coordinator_epoch=0), producer_id=producer, producer_epoch=0, timestamp_ms=NOW
    )
    return at(offset, data)


ABORTED = AbortedTransaction(producer_id=1, first_offset=0, last_offset=1, last_stable_offset=2)


def test_records_of_an_aborted_transaction_go_and_hide_nothing():
    older, aborted = keyed(0, "a"), keyed(1, "a", producer=1, transactional=True)
    marked = ending(2, MarkerKind.ABORT)
    one = AbortedTransaction(producer_id=1, first_offset=1, last_offset=2, last_stable_offset=3)
    left = Cleaner(older, aborted, marked, aborted=[one]).left()
    assert left[:2] == [older, None] and left[2] is not None


def test_only_the_producer_and_the_range_of_the_transaction_are_aborted():
    ranges = AbortedRanges([ABORTED])

    def held(offset, producer=1, transactional=True):
        return ranges.hold(read_header(keyed(offset, "a", producer=producer, transactional=transactional)))

    assert (held(0), held(1), held(2), held(0, producer=2), held(0, transactional=False)) == (True, True) + (False,) * 3


def test_the_marker_of_a_transaction_with_data_stays_as_it_is():
    batches = keyed(0, "a", producer=1, transactional=True), ending(1, MarkerKind.COMMIT)
    assert Cleaner(*batches).left() == list(batches)


def test_the_marker_of_a_transaction_without_data_goes_after_its_horizon():
    data = ending(1, MarkerKind.ABORT)
    (first,) = Cleaner(data).left()
    header = read_header(first)
    assert delete_horizon_ms(header) == HORIZON
    assert read_marker(first, 0, header) == read_marker(data, 0, read_header(data))
    assert (header.attributes & 0x30, header.base_offset, header.producer_id) == (0x30, 1, 1)
    assert Cleaner(first, now=HORIZON).left() == [first]
    assert Cleaner(first, now=HORIZON + 1).left() == [None]


def test_each_transaction_has_its_own_marker():
    """The data of the first transaction of a producer does not hold the marker of its second."""
    left = Cleaner(
        keyed(0, "a", producer=1, transactional=True), ending(1, MarkerKind.COMMIT), ending(2, MarkerKind.COMMIT)
    ).left()
    assert [delete_horizon_ms(read_header(one)) for one in left] == [NO_TIMESTAMP, NO_TIMESTAMP, HORIZON]


def test_a_batch_that_cannot_be_read_stays():
    data = keyed(0, "a")
    broken = data[:22] + bytes([Codec.GZIP]) + data[23:]
    marked = ending(1, MarkerKind.COMMIT)
    broken_marker = marked[:22] + bytes([0x30 | Codec.GZIP]) + marked[23:]
    assert Cleaner(broken, broken_marker).left() == [broken, broken_marker]
