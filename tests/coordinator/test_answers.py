"""Answers as handlers get them: a refusal is complete with a code and an id."""

from __future__ import annotations

import pytest

from kaas.coordinator import answers
from kaas.coordinator.answers import CommitAnswer, DeleteOffsetsAnswer, JoinAnswer, LeaveAnswer, SyncAnswer
from kaas.errors import ErrorCode


def test_a_refused_join_has_everything_that_the_protocol_wants_of_one():
    refused = JoinAnswer(code=ErrorCode.UNKNOWN_MEMBER_ID, member_id="m")
    assert (refused.generation, refused.leader, refused.members) == (answers.NO_GENERATION, "", ())
    assert (refused.protocol_type, refused.protocol_name, refused.skip_assignment) == (None, None, False)


def test_a_refused_sync_has_an_empty_assignment_and_no_protocol():
    """tansu#679: an assignment that was null broke clients."""
    refused = SyncAnswer(code=ErrorCode.ILLEGAL_GENERATION)
    assert (refused.assignment, refused.protocol_type, refused.protocol_name) == (b"", None, None)


def test_rows_are_good_unless_something_is_said_of_them():
    assert (LeaveAnswer().code, LeaveAnswer().members) == (ErrorCode.NONE, ())
    assert DeleteOffsetsAnswer().partitions == {}
    assert CommitAnswer(ErrorCode.NONE).rows is None


@pytest.mark.parametrize("answer", [LeaveAnswer(), JoinAnswer(code=ErrorCode.NONE, member_id="m")])
def test_an_answer_does_not_change(answer):
    with pytest.raises(AttributeError):
        answer.code = ErrorCode.UNKNOWN_SERVER_ERROR
