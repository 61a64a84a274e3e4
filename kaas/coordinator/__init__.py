"""The group coordinator as a function of (state, event, now).

How it works
- An event comes in (`events`): a member's request, a timer that ran out, the outcome of a write. `Coordinator.handle` looks
  at the state, and gives back effects (`effects`): replies, timers to set or cancel, records to persist, things to announce.
- Decide, persist, apply, reply. What a client is told to be durable is first a record (`records`); when the shell says that
  it is written, `replay.apply` puts it into the state and only then the reply goes out. When the write fails the state is as
  before and the reply is an error. A restart runs the same `apply` over the same records. Consumer groups (`modern`) are in
  memory ahead of their records, and what is told of them waits for these (docs/decisions/0033).
- States are tables (`classic.states`, `modern.states`): for each state its replies and its exits. A classic group has one
  `transition_to`; a consumer group's state follows from its members.
- Timers are data: a key and a deadline. An expiry is an event like any other; one that comes too late finds nothing to do.

Rules
- No clock, dice, sockets, logging, threads. `now_ms` (monotonic) comes with each event; new member ids come in with a join.
- Dicts and lists are iterated, never sets, so the same events give the same effects in the same order.
- What cannot be is asserted, in production too. Nothing is asserted of what a client sends.
"""
