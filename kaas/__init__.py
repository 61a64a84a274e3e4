"""The engine: a Kafka-wire-protocol broker, its group coordinator and the live feed. Knows nothing of Django."""
