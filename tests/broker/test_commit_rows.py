"""Rows of a commit: sorted out, and answered in the order in which they came."""

import uuid
from types import SimpleNamespace as Named

from hypothesis import given
from hypothesis import strategies as st

from kaas.broker.commit_rows import refuse, reply, split, values_of
from kaas.broker.security.rules import Rules
from kaas.coordinator.answers import CommitAnswer
from kaas.errors import ErrorCode
from kaas.wire.apis import OFFSET_COMMIT
from tests.support.laws import law

T = uuid.UUID(int=1)
PARTITIONS = {"t": 2, "u": 1}
NONE, UNKNOWN, TOO_LARGE = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OFFSET_METADATA_TOO_LARGE


class Asking:
    """A request; keeps what it is answered."""

    def __init__(self, rules=None):
        self.key = OFFSET_COMMIT.key
        self.broker = Named(
            rules=rules,
            clock=Named(wall_ms=lambda: 1_000),
            topics=Named(
                partitions_of=lambda name: PARTITIONS.get(name, 0), name_of=lambda id: "t" if id == T else None
            ),
        )
        self.connection = Named(principal="User:alice", address="127.0.0.1")
        self.answers = []

    def answer(self, values):
        self.answers.append(values)


def row(partition, offset=5, metadata=None, epoch=3):
    return Named(
        partition_index=partition, committed_offset=offset, committed_leader_epoch=epoch, committed_metadata=metadata
    )


def commit(*topics):
    """A message with these topics: name, then partitions."""
    return Named(topics=[Named(name=name, partitions=[row(number) for number in numbers]) for name, *numbers in topics])


def parted(message, *, by_id=False, with_epoch=True, rules=None):
    request = Asking(rules)
    rows, codes = split(request.broker, request, message, by_id=by_id, with_epoch=with_epoch)
    return [(topic, partition) for topic, partition, _ in rows], codes


def codes_in(values):
    return [row["error_code"] for topic in values["topics"] for row in topic["partitions"]]


def test_rows_that_are_not_there_are_sorted_out():
    message = commit(("t", 0, 2, 1), ("no", 0), ("u", -1, 0))
    assert parted(message) == ([("t", 0), ("t", 1), ("u", 0)], [NONE, UNKNOWN, NONE, UNKNOWN, UNKNOWN, NONE])


def test_topics_may_be_named_by_id():
    message = Named(topics=[Named(topic_id=id, partitions=[row(0)]) for id in (T, uuid.UUID(int=9))])
    assert parted(message, by_id=True) == ([("t", 0)], [NONE, ErrorCode.UNKNOWN_TOPIC_ID])
    ((*_, entry),), _ = split(Asking().broker, Asking(), message, by_id=True, with_epoch=True)
    assert entry.topic_id == T.bytes
    assert [list(topic) for topic in values_of(message, [NONE, NONE], CommitAnswer(NONE))["topics"]] == [
        ["topic_id", "partitions"]
    ] * 2


def test_a_topic_that_may_not_be_read_is_refused_whether_it_is_there_or_not():
    nothing = Rules((), super_users=frozenset(), everyone_if_none=False)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert parted(commit(("t", 0), ("no", 0)), rules=nothing) == ([], [denied, denied])


def test_what_a_version_does_not_have_is_left_out():
    ((*_, old),), _ = split(Asking().broker, Asking(), commit(("t", 0)))
    ((*_, new),), _ = split(Asking().broker, Asking(), commit(("t", 0)), with_epoch=True)
    assert (old.leader_epoch, new.leader_epoch) == (-1, 3) and old.metadata == "" and old.topic_id is None


def test_a_commit_is_of_now_and_may_have_a_retention_of_its_own():
    kept = [split(Asking().broker, Asking(), commit(("t", 0)), retention_ms=ms)[0][0][2] for ms in (None, 0, 500)]
    assert [(entry.committed_at, entry.expires_at) for entry in kept] == [(1_000, None), (1_000, 1_000), (1_000, 1_500)]


def test_a_refusal_stands_on_every_row():
    request = Asking()
    refuse(request, commit(("t", 0, 1), ("u", 0)), ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert [codes_in(values) for values in request.answers] == [[ErrorCode.GROUP_AUTHORIZATION_FAILED] * 3]


def test_the_edge_speaks_first_then_the_group_then_the_row():
    message, codes = commit(("t", 0, 9, 1)), [NONE, UNKNOWN, NONE]
    request = Asking()
    reply(request, message, codes, CommitAnswer(NONE, {1: TOO_LARGE}))
    reply(request, message, codes, CommitAnswer(ErrorCode.ILLEGAL_GENERATION))
    assert [codes_in(values) for values in request.answers] == [
        [NONE, UNKNOWN, TOO_LARGE],
        [ErrorCode.ILLEGAL_GENERATION, UNKNOWN, ErrorCode.ILLEGAL_GENERATION],
    ]


@given(st.lists(st.tuples(st.sampled_from(["t", "u", "no"]), st.integers(-1, 3)), max_size=8), st.data())
@law
def test_every_row_is_answered_once_and_in_its_place(asked, data):
    message = commit(*asked)
    rows, codes = parted(message)
    assert len(codes) == len(asked) and rows == [key for key, code in zip(asked, codes, strict=True) if not code]
    bad = data.draw(st.sets(st.sampled_from(range(len(rows))) if rows else st.nothing()))
    answered = codes_in(values_of(message, codes, CommitAnswer(NONE, dict.fromkeys(bad, TOO_LARGE))))
    expected = iter([TOO_LARGE if number in bad else NONE for number in range(len(rows))])
    assert answered == [code or next(expected) for code in codes]
