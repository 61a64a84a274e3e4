import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Append, Appended, admit
from kaas.storage.log.config import DEFAULT_CONFIG
from kaas.storage.log.draft import Draft
from kaas.storage.log.segment import Segment
from kaas.storage.log.state import LogState
from kaas.wire.records.control import MarkerKind
from tests.storage.log.making import NOW, config, disk_takes, marker, plain, seen


@pytest.fixture
def segment(open_files, folder):
    return Segment.new(open_files, str(folder), 0, NOW)


def place(draft: Draft, state: LogState, request: Append, settings=DEFAULT_CONFIG) -> Appended:
    return draft.place(admit(request, settings, state.producers, NOW), leader_epoch=4)


def test_batches_get_consecutive_offsets_and_are_written_at_once(segment):
    state = LogState()
    draft = Draft(segment, state, NOW)
    places = [place(draft, state, plain(*values)) for values in (["a", "b"], ["c"], ["d", "e"])]
    assert [one.base_offset for one in places] == [0, 2, 3] and segment.size == 0
    draft.write(4096, sync=True)
    chunk = segment.read(0, 10**6, 5, min_one=True)
    assert seen(chunk.buffers) == [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "e")]
    assert (segment.size, segment.changed_ms, state.epochs.latest) == (draft.size, NOW, 4)


def test_the_time_of_the_log_is_told(segment):
    state = LogState()
    draft = Draft(segment, state, NOW)
    assert place(draft, state, plain("a"), config(message_timestamp_type="LogAppendTime")).append_time_ms == NOW


def test_aborted_transactions_reach_the_segment_with_the_write(segment):
    state = LogState()
    draft = Draft(segment, state, NOW)
    place(draft, state, plain("a", producer=5, transactional=True))
    place(draft, state, marker(MarkerKind.ABORT, producer=5))
    assert segment.aborted == []
    draft.write(4096, sync=False)
    assert [(one.producer_id, one.first_offset, one.last_offset) for one in segment.aborted] == [(5, 0, 1)]


def test_a_failed_write_takes_everything_back(segment):
    state = LogState()
    first = Draft(segment, state, NOW)
    place(first, state, plain("kept", producer=1))
    first.write(4096, sync=False)
    before = (segment.size, state.next_offset, state.producers.snapshot(), segment.file.read(10**6, 0))
    draft = Draft(segment, state, NOW)
    place(draft, state, plain("lost", producer=1, sequence=1))
    place(draft, state, plain("lost", producer=2, transactional=True))
    with disk_takes(segment.size + 100), pytest.raises(KafkaError) as raised:
        draft.write(4096, sync=False)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (segment.size, state.next_offset, state.producers.snapshot(), segment.file.read(10**6, 0)) == before


def test_a_draft_that_was_cleared_is_empty(segment):
    state = LogState()
    draft = Draft(segment, state, NOW)
    place(draft, state, plain("a"))
    draft.clear()
    assert (draft.headers, draft.buffers, draft.results, draft.size) == ([], [], [], 0)
