"""The group-state file of a consumer group: what people read there, and that all of it comes back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.modern.group import ClassicPart, MemberState, ResolvedRegex
from kaas.coordinator.modern.stored import picture_of
from kaas.storage.consumer_group_files import STATES, WORDS
from kaas.storage.group_files import Unreadable, group_bytes, group_of, head_of, membership_of
from tests.support.consumer_records import T, changed, changes, member
from tests.support.laws import law

PATH = Path("orders.json")


@given(changes, st.integers(0, 99), st.integers(0, 99), st.integers(0, 9))
@law
def test_a_consumer_group_comes_back_as_it_was(record, epoch, version, reserved):
    picture = picture_of(record)
    data = group_bytes("orders", epoch, version, picture, reserved)
    file = group_of(data, PATH)
    assert (file.group_id, file.coordinator_epoch, file.version) == ("orders", epoch, version)
    assert (file.reserved_generation, file.deleted_at, head_of(data).order) == (reserved, None, (epoch, version))
    membership = membership_of(file)
    assert membership.whole and picture_of(membership) == picture


def test_a_person_can_read_it():
    classic = member("k", classic=ClassicPart(9_000, (("range", b"\0"),)), state=MemberState.UNREVOKED)
    record = changed(
        3,
        members=[member("a", assigned={T: (0, 1)}), classic],
        targets={"a": {T: (0,)}},
        regexes={"t.*": ResolvedRegex(("t",), 5)},
        whole=True,
        number=17,
    )
    data = group_bytes("orders", 2, 9, picture_of(record), 4)
    common = {
        "instance_id": None,
        "rack_id": None,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "rebalance_timeout_ms": 60_000,
        "topics": ["t"],
        "regex": "",
        "assignor": None,
        "epoch": 1,
        "previous_epoch": 0,
        "revoking": {},
        "joined_at": 5,
    }
    assert msgspec.json.decode(data) == {
        "coordinator_epoch": 2,
        "version": 9,
        "group_id": "orders",
        "type": "consumer",
        "epoch": 3,
        "metadata_hash": 99,
        "target_epoch": 3,
        "target_assignor": "uniform",
        "reserved_generation": 4,
        "at": 7_000,
        "members": [
            {"member_id": "a", **common, "classic": None, "state": "stable", "assigned": {T.hex(): [0, 1]}},
            {
                "member_id": "k",
                **common,
                "classic": {"session_timeout_ms": 9_000, "protocols": [["range", "AA=="]]},
                "state": "unrevoked",
                "assigned": {},
            },
        ],
        "targets": {"a": {T.hex(): [0]}},
        "regexes": {"t.*": {"topics": ["t"], "at": 5}},
        "record_number": 17,
        "lacks": False,
    }
    assert data.count(b"\n") > 30


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b'"stable"', b'"happy"'),
        (T.hex().encode(), b"orders"),
        (b"abab", b"ABAB"),
        (b'"version": 9', b'"version": "nine"'),
        (b'"targets"', b'"target"'),
    ],
)
def test_what_cannot_be_understood_is_unreadable(good, bad):
    record = changed(3, members=[member("a", assigned={b"\xab" * 15 + b"\xcd": (0,), T: (1,)})], targets={"a": {}})
    data = group_bytes("orders", 2, 9, picture_of(record), 4)
    assert good in data
    with pytest.raises(Unreadable):
        group_of(data.replace(good, bad), PATH)


@given(changes, st.data())
@law
def test_a_file_that_is_cut_short_is_unreadable(record, data):
    whole = group_bytes("orders", 1, 1, picture_of(record), 0)
    with pytest.raises(Unreadable):
        group_of(whole[: data.draw(st.integers(0, len(whole) - 1))], PATH)


def test_every_state_of_a_member_has_a_word():
    assert WORDS.keys() == set(MemberState) and set(STATES.values()) == set(MemberState)
