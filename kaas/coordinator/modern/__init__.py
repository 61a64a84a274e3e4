"""Consumer groups of KIP-848: the broker decides who reads what, and every member moves there at its own pace.

How it works
- A member's heartbeat says what it wants (topics, a pattern, an assignor) and what it holds; the answer says what it may hold.
  It is checked (`checks`), then decided about (`heartbeat`, `leave`); one decision is one `change`.
- Three numbers order everything. The group epoch grows when the input of the assignment changes: members, subscriptions,
  topics (`epochs`, `patterns`). The target epoch is the group epoch of which the target assignment was made (`assignors`). A
  member's epoch is the target epoch up to which it has let go of what is no longer its own (`reconcile`).
- Nobody is told a partition that somebody else still holds, or has not said that it let go of.

Rules
- A decision changes the group in memory at once and is told to the client only when its record is durable, so that the next
  heartbeat is judged by what was decided last, as Apache does it. When a record cannot be written, the client gets an error and
  the next record of the group holds the whole of it (`ModernGroup.unsaved`).
- Topics are known by id; names come from `core.topics`.
- Classic members in such a group (`classic_join`, `classic_members`) speak Join, Sync and Heartbeat and are held to the same
  epochs. The first member under KIP-848 makes a classic group a consumer group (`upgrade`), the last one that goes leaves a
  classic group behind (`downgrade`).
Source: KIP-848; Apache Kafka 4.2; PROTOCOL 2.11, 2.12 and 4 in docs/PROTOCOL.md.
"""
