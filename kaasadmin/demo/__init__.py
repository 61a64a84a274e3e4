"""Lifelike groups to look at: real producers and real consumers (librdkafka) against the embedded broker.

Job: scenes that an operator meets: a steady group, a deployment in waves, a member that flaps past its session, a partition
that is stalled on a poison record, a group far behind that catches up, an idle one, a simple one without members, static
members that restart, groups under KIP-848 and on their way there, ids with slashes and unicode.
Rules: everything goes over the Kafka protocol; nothing is written past the broker. Dice come from one seed, so that a demo can
be told again.
Must not know: Django's models, the feed.
"""
