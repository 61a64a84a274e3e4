"""Where our broker differs from Apache Kafka on purpose. Apache is the first side, ours the second.

Each rule names the page of docs/decisions that says why. A difference that a rule excuses ends its sequence, as the two groups
may go separate ways from there, and is counted in the report.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.differential.consumer_steps import HEARTBEAT
from tests.conformance.differential.steps import Step

PARKED = "parked"
UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_MEMBER_ID = -1, 3, 25
GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC = 69, 86
INVALID_REQUEST, UNRELEASED_INSTANCE_ID, STALE_MEMBER_EPOCH, INVALID_REGULAR_EXPRESSION = 42, 111, 113, 128
APACHE_TAKES_OR_REFUSES = (0, UNRELEASED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION)


def excuse(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """Why this difference is none; null if nothing excuses it."""
    for rule in RULES:
        reason = rule(step, what, apache, ours)
        if reason is not None:
            return reason
    return None


def code_of(said: Any) -> int | None:
    return said.get("error_code") if isinstance(said, dict) else None


def another_leader(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    if not isinstance(apache, dict) or not isinstance(ours, dict):
        return None
    both = apache.get("leader"), ours.get("leader")
    if all(both) and both[0] != both[1]:
        return "0020: whoever follows a leader that left is any of the members"
    return None


def removed_while_syncing(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    if apache == PARKED and code_of(ours) == UNKNOWN_MEMBER_ID and what.startswith("the answer to sync"):
        return "0005: a parked Sync of a member that is removed is never answered by Apache, here with 25"
    return None


def joined_twice(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    if (
        apache == PARKED
        and code_of(ours) is not None
        and what.startswith("the answer to join")
        and str(step) not in what
    ):
        return "0006: of two Joins of one member the older is never answered by Apache, here it is"
    return None


def pending_and_static(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    if (code_of(apache), code_of(ours)) == (UNKNOWN_SERVER_ERROR, UNKNOWN_MEMBER_ID):
        return "0018: an id that a dynamic member was told, sent with an instance id, is -1 for Apache, here 25"
    return None


def unwritten_group(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """Apache shows a group when a record that was written after its birth is; here it shows at once."""
    if what != "the description" or (apache["group_state"], ours["group_state"]) != ("Dead", "Empty"):
        return None
    return "0019: a group of which nothing is stored shows later in Apache" if not ours["members"] else None


def group_without_a_record(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """A commit of rows that are all refused makes a group in Apache, which no list shows and only OffsetDelete meets."""
    if step.what == "delete offsets" and code_of(apache) == 0 and code_of(ours) == GROUP_ID_NOT_FOUND:
        codes = {row["error_code"] for topic in apache["topics"] for row in topic["partitions"]}
        if codes == {UNKNOWN_TOPIC_OR_PARTITION}:
            return "0019: a group of which nothing was ever stored is there for Apache's OffsetDelete alone"
    return None


def pending_leave_rebalances(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    if step.what != "leave" or what != "the description" or apache["group_state"] != "PreparingRebalance":
        return None
    if ours["group_state"] in ("Stable", "CompletingRebalance") and len(ours["members"]) == len(apache["members"]):
        return "0015: a pending id that leaves starts a rebalance in Apache"
    return None


def subscribed_since(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    if step.what != "delete offsets" or code_of(apache) != 0 or code_of(ours) != 0:
        return None
    theirs, own = ([row["error_code"] for t in said["topics"] for row in t["partitions"]] for said in (apache, ours))
    differ = {pair for pair in zip(theirs, own, strict=False) if pair[0] != pair[1]}
    if differ <= {(0, GROUP_SUBSCRIBED_TO_TOPIC), (GROUP_SUBSCRIBED_TO_TOPIC, 0)}:
        return "0016: while members join, Apache counts those topics as subscribed that the last generation read"
    return None


def said_again(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """A static member says its first heartbeat again."""
    if step.what != HEARTBEAT or step.more.get("epoch") != 0 or step.instance is None:
        return None
    if code_of(apache) == UNRELEASED_INSTANCE_ID and code_of(ours) in (0, INVALID_REGULAR_EXPRESSION):
        return (
            "0039: a static member that joins again under its id is taken like a dynamic one, by Apache it is refused"
        )
    return None


def another_instance(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """A member joins again, and names an instance that is not its own."""
    joins = step.what == HEARTBEAT and step.more.get("epoch") == 0 and step.instance is not None
    if joins and code_of(ours) == INVALID_REQUEST and code_of(apache) in APACHE_TAKES_OR_REFUSES:
        return "0039: a member cannot change its instance id"
    return None


def reads_nothing(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """A member comes that subscribes to nothing, while the target is due."""
    joins = step.what == HEARTBEAT and step.more.get("epoch") == 0 and step.more.get("topics") == ()
    if joins and what == "the description" and without_shares(apache) == without_shares(ours):
        return "0034: a member that comes and reads nothing makes Apache's assignor take all for alike"
    return None


def without_shares(described: dict[str, Any]) -> dict[str, Any]:
    """A consumer group without what its members have and are to have."""
    members = [{**m, "assignment": None, "target_assignment": None} for m in described["members"]]
    return {**described, "members": members}


def held_since(step: Step, what: str, apache: Any, ours: Any) -> str | None:
    """A member commits with an epoch that it had before."""
    if step.what != "commit" or not isinstance(apache, dict) or not isinstance(ours, dict):
        return None
    theirs, own = ({row["error_code"] for t in said["topics"] for row in t["partitions"]} for said in (apache, ours))
    if (theirs, own) == ({STALE_MEMBER_EPOCH}, {0}):
        return "0040: a commit with an earlier epoch is taken for partitions that the member has had since then"
    return None


RULES = (
    another_leader,
    removed_while_syncing,
    joined_twice,
    pending_and_static,
    unwritten_group,
    group_without_a_record,
    pending_leave_rebalances,
    subscribed_since,
    said_again,
    another_instance,
    reads_nothing,
    held_since,
)


def pinned(described: dict[str, Any]) -> dict[str, Any]:
    """A description without the assignments that Apache forgets when one rebalance overtakes another (0017)."""
    if described["group_state"] not in ("CompletingRebalance", "PreparingRebalance"):
        return described
    return {**described, "members": [{**m, "member_assignment": "not pinned"} for m in described["members"]]}
