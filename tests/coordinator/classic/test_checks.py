"""Who speaks, and of which generation: the checks that several requests share."""

from __future__ import annotations

import pytest

from kaas.coordinator.classic.checks import check_generation, check_member
from kaas.errors import ErrorCode
from tests.support.groups import Groups


@pytest.fixture
def group():
    groups = Groups()
    a, b = groups.settled(groups.member("i0"), groups.member())
    return groups.classic(), a.id, b.id


def test_the_instance_is_looked_at_before_the_member(group):
    """A replaced static member must hear 82 and stop, not 25 and join again."""
    classic, static, dynamic = group
    for member_id, instance_id, code in (
        (static, "i0", ErrorCode.NONE),
        (static, None, ErrorCode.NONE),
        (dynamic, None, ErrorCode.NONE),
        ("who", "i0", ErrorCode.FENCED_INSTANCE_ID),
        (dynamic, "i0", ErrorCode.FENCED_INSTANCE_ID),
        ("", "i0", ErrorCode.FENCED_INSTANCE_ID),
        (static, "i9", ErrorCode.UNKNOWN_MEMBER_ID),
        ("who", "i9", ErrorCode.UNKNOWN_MEMBER_ID),
        ("who", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        assert check_member(classic, member_id, instance_id) is code


def test_only_the_present_generation_is_right(group):
    classic, _, _ = group
    assert check_generation(classic, 2) is ErrorCode.NONE
    assert {check_generation(classic, n) for n in (-1, 0, 1, 3)} == {ErrorCode.ILLEGAL_GENERATION}
