"""Administration of groups through each client's own calls."""

from tests.conformance.clients.harness.scenarios.groups import options, settled

EVERYTHING = frozenset({"delete", "reset", "delete-offsets"})
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, GROUP_SUBSCRIBED_TO_TOPIC = 68, 69, 25, 86


class Desk:
    """One administrator's session: says an action, hears one answer."""

    def __init__(self, ctx, client):
        self.ctx = ctx
        self.worker = ctx.start(client, "admin")

    def ask(self, *words):
        before = len(self.worker.events)
        self.worker.say(" ".join(map(str, words)))
        self.ctx.until(lambda: len(self.worker.events) > before, 30, f"an answer to {' '.join(map(str, words))}")
        return self.worker.events[before]

    def expect(self, event, *words):
        answer = self.ask(*words)
        self.ctx.check(answer["event"] == event, f"{' '.join(map(str, words))} answered {answer}")
        return answer

    def refused(self, code, *words):
        answer = self.ask(*words)
        refused = answer["event"] == "error" and answer["code"] == code
        self.ctx.check(refused, f"{' '.join(map(str, words))} answered {answer} instead of error {code}")

    def names(self):
        return {row["group"]: row for row in self.expect("groups", "list")["groups"]}


def groups(ctx, client, can=(), gone="Dead", protocol="classic"):
    """list, describe, offsets, reset, delete offsets, delete; and the refusals while a member is in"""
    topic, group, desk = ctx.topic(3), ctx.group(), Desk(ctx, client)
    ctx.produce(client, topic, 90)
    member = ctx.start(client, "consume", **options(client, group, topic, protocol), client_id="the-member")
    ctx.until(lambda: len(member.records) >= 90, 20, "90 records")
    ctx.until(lambda: sum(ctx.broker.committed(group, topic).values()) == 90, 10, "90 records to be committed")

    listed = desk.names().get(group)
    ctx.check(listed, f"{group} is not listed")
    ctx.check(listed.get("state") in (None, "Stable", "STABLE"), f"listed as {listed}")
    found = desk.expect("group", "describe", group)
    ctx.equal("state", found["state"].upper(), "STABLE")
    described(ctx, found, member)
    ctx.equal("committed offsets", desk.expect("group-offsets", "offsets", group, topic)["committed"], ends(ctx, topic))
    if "delete" in can:
        desk.refused(NON_EMPTY_GROUP, "delete", group)
    if "reset" in can:
        desk.refused(UNKNOWN_MEMBER_ID, "reset", group, topic, "0:1")
    if "delete-offsets" in can:
        desk.refused(GROUP_SUBSCRIBED_TO_TOPIC, "delete-offsets", group, topic, "0")

    ctx.close(member)
    empty = desk.expect("group", "describe", group)
    ctx.equal("state without members", empty["state"].upper(), "EMPTY")
    ctx.equal("members of an empty group", empty["members"], [])
    if "reset" in can or "reset-empty" in can:
        desk.expect("offsets-reset", "reset", group, topic, "0:3,1:4,2:5")
        reset = desk.expect("group-offsets", "offsets", group, topic)["committed"]
        ctx.equal("offsets after the reset", reset, {"0": 3, "1": 4, "2": 5})
        ctx.equal("the same, asked of the broker", ctx.broker.committed(group, topic), {0: 3, 1: 4, 2: 5})
    if "delete-offsets" in can:
        desk.expect("offsets-deleted", "delete-offsets", group, topic, "0,2")
        left = desk.expect("group-offsets", "offsets", group, topic)["committed"]
        ctx.equal("offsets after two were deleted", set(left), {"1"})
    if "delete" in can:
        desk.expect("deleted", "delete", group)
        ctx.check(group not in desk.names(), "a deleted group is still listed")
        ctx.equal("offsets of a deleted group", ctx.broker.committed(group, topic), {})
        desk.refused(GROUP_ID_NOT_FOUND, "delete", group)
    vanished(ctx, desk, gone)
    desk.worker.end_input()
    ctx.finish(desk.worker)


def described(ctx, found, member):
    ctx.equal("number of members", len(found["members"]), 1)
    (row,) = found["members"]
    ctx.equal("client id", row["client"], "the-member")
    ctx.check(row["host"], "a member without host")
    ctx.equal("assigned partitions", row["partitions"], [0, 1, 2])
    told = member.last("assigned").get("member")
    if told:
        ctx.equal("member id", row["member"], told)


def ends(ctx, topic):
    return {str(p): end for p, end in ctx.broker.end_offsets(topic).items()}


def vanished(ctx, desk, gone):
    """A group that never was is Dead, or not found (KIP-1043), by the version that the client speaks."""
    answer = desk.ask("describe", ctx.fresh("never"))
    seen = answer.get("code") if answer["event"] == "error" else answer["state"].capitalize()
    ctx.equal("description of a group that never was", seen, gone)


def remove(ctx, client):
    """a dead static member is removed by its instance id, and the others take over at once"""
    topic, group, desk = ctx.topic(4), ctx.group(), Desk(ctx, client)
    chosen = options(client, group, topic, session_ms=30000)
    one = ctx.start(client, "consume", **chosen, instance="one")
    two = ctx.start(client, "consume", **chosen, instance="two")
    ctx.until(lambda: settled([one, two], 4, each=2), 25, "two static members to own two partitions each")
    one.kill()
    instances = {m["instance"] for m in desk.expect("group", "describe", group)["members"]}
    ctx.equal("instances while one is dead", instances, {"one", "two"})
    desk.expect("removed", "remove-member", group, "one")
    took = ctx.until(lambda: two.owned == {0, 1, 2, 3}, 15, "the other member to own every partition")
    ctx.within("takeover from the removed member", took, 0, 4)
    desk.refused(UNKNOWN_MEMBER_ID, "remove-member", group, "one")
    ctx.close(two)
