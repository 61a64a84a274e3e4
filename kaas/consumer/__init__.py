"""The client side of the protocol, for any Kafka cluster: connections, admin calls. Needs the wire and the error codes only."""
