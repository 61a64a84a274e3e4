"""The table of scenarios that are played: which property is tried with which client.

A client written java.consumer uses the KIP-848 group protocol; without a protocol it is a classic
member. Long scenarios stand first, so that short ones fill the gaps when several run at a time.
"""

from tests.conformance.clients.harness.registry import Table
from tests.conformance.clients.harness.scenarios import admin, groups, records, tools

TABLE = Table()
each, one = TABLE.for_clients, TABLE.add

# membership
each("split", groups.split, "java librdkafka franz-go kafka-go kafkajs kafka-python aiokafka", 90)
each("split", groups.split, "java.consumer franz-go.consumer", 90)
each("crowd", groups.crowd, "librdkafka kafka-python aiokafka librdkafka.consumer", 150)
each("transform", records.transform, "java librdkafka", 120)
each("freeze", groups.freeze, "java librdkafka franz-go kafkajs kafka-python java.consumer", 90)
THREE = "java librdkafka franz-go"
FIVE = "java librdkafka franz-go sarama kafka-python"
one("mixed.range", groups.mixed, THREE, 120, clients=THREE, assignor="range", partitions=6)
one("mixed.cooperative", groups.mixed, FIVE, 120, clients=FIVE, assignor="cooperative-sticky", partitions=10)
UNIFORM = {"assignor": "uniform", "protocol": "consumer"}
one("mixed.consumer", groups.mixed, THREE, 120, clients=THREE, partitions=6, **UNIFORM)
each("migrate", groups.migrate, "java franz-go", 120)
each("held", groups.held, "java.consumer")
each("static", groups.static, "java librdkafka franz-go sarama aiokafka librdkafka.consumer")
each("twins", groups.twins, "java sarama kafka-python")
each("twins", groups.twins, "librdkafka", codes=(groups.FENCED_INSTANCE_ID, groups.LIBRDKAFKA_FATAL))
each("keep", groups.keep, "java librdkafka sarama kafka-python java.consumer franz-go.consumer")
each("grow", groups.grow, "java librdkafka sarama kafka-go kafkajs java.consumer")
each("restart", groups.restart, "java librdkafka franz-go sarama kafka-go kafka-python aiokafka")
each("restart", groups.restart, "librdkafka.consumer franz-go.consumer")

# records and offsets
each("transactions", records.transactions, "java librdkafka franz-go aiokafka kafkajs")
each("fencing", records.fencing, "franz-go kafka-python sarama", code=records.PRODUCER_FENCED)
each("fencing", records.fencing, "librdkafka", code=records.LIBRDKAFKA_FENCED)
each("codecs", records.codecs, "java librdkafka franz-go sarama kafkajs kafka-python aiokafka")
each("offsets", records.offsets, "java librdkafka franz-go sarama kafka-go kafkajs kafka-python")

# administration: what each client's calls can do, and how they tell of a group that never was
NEWEST = "java franz-go kafka-python java.consumer"
each("admin", admin.groups, NEWEST, can=admin.EVERYTHING, gone=admin.GROUP_ID_NOT_FOUND)
each("admin", admin.groups, "sarama", can=admin.EVERYTHING)
each("admin", admin.groups, "librdkafka librdkafka.consumer", can={"delete", "reset"})
each("admin", admin.groups, "kafkajs", can={"delete", "reset-empty"})
each("admin", admin.groups, "aiokafka")
each("remove", admin.remove, "java franz-go kafka-python")

# Apache's tools
one("tool.describe.classic", tools.describe, "java tools", 90)
one("tool.describe.consumer", tools.describe, "java tools", 90, protocol="consumer")
one("tool.reset", tools.reset, "java tools", 90)
one("tool.delete", tools.delete, "java tools", 90)
one("tool.groups", tools.groups, "java tools")
one("tool.topics", tools.topics, "tools")
one("tool.get-offsets", tools.get_offsets, "java tools")
one("tool.performance", tools.performance, "tools")
one("tool.verifiable", tools.verifiable, "tool")
one("tool.console", tools.console, "tool")
