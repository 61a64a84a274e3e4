"""Kafka's error codes as data, and the exceptions that carry them.

Job: one table of every code this project speaks: its number, Kafka's name, whether a client may try again, one line of meaning.
Rules: a code is an `int` (`ErrorCode` is an `IntEnum`), so it goes on the wire as it is; an exception that carries a code turns
into an answer at one place (`kaas.broker.dispatch`), never deeper.
Must not know: requests, groups, sockets.
Source: Apache Kafka 4.2, `org.apache.kafka.common.protocol.Errors`; the meanings are worded here.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """A Kafka error code.

    Shape: an int from -1 to 32767 with three more attributes: `retriable` (a client may repeat the same request),
    `meaning` (one line for people) and the inherited `name` (Kafka's own).
    """

    retriable: bool
    meaning: str

    def __new__(cls, number: int, retriable: bool, meaning: str) -> ErrorCode:
        member = int.__new__(cls, number)
        member._value_ = number
        member.retriable = retriable
        member.meaning = meaning
        return member

    __hash__ = int.__hash__  # an enum's own hash is computed in Python: too slow for a table looked up on each request

    UNKNOWN_SERVER_ERROR = (-1, False, "the broker met something it did not expect")
    NONE = (0, False, "no error")
    OFFSET_OUT_OF_RANGE = (1, False, "the log does not hold this offset")
    CORRUPT_MESSAGE = (2, True, "the records fail their checksum or cannot be read")
    UNKNOWN_TOPIC_OR_PARTITION = (3, True, "this broker has no such topic or partition")
    INVALID_FETCH_SIZE = (4, False, "the fetch size makes no sense")
    LEADER_NOT_AVAILABLE = (5, True, "the partition has no leader at this moment")
    NOT_LEADER_OR_FOLLOWER = (6, True, "another broker leads this partition")
    REQUEST_TIMED_OUT = (7, True, "the request took longer than it may")
    MESSAGE_TOO_LARGE = (10, False, "the batch is larger than the topic takes")
    OFFSET_METADATA_TOO_LARGE = (12, False, "the metadata beside the offset is too long")
    NETWORK_EXCEPTION = (13, True, "the connection broke before an answer came")
    COORDINATOR_LOAD_IN_PROGRESS = (14, True, "the coordinator still reads the state of its groups")
    COORDINATOR_NOT_AVAILABLE = (15, True, "no coordinator can take this at the moment")
    NOT_COORDINATOR = (16, True, "another broker coordinates this group")
    INVALID_TOPIC_EXCEPTION = (17, False, "the topic name is not a legal one, or the topic may not be used so")
    RECORD_LIST_TOO_LARGE = (18, False, "the batch is larger than a segment")
    NOT_ENOUGH_REPLICAS = (19, True, "too few replicas are in sync")
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (20, True, "too few replicas were in sync after the write")
    INVALID_REQUIRED_ACKS = (21, False, "acks is none of 0, 1 and -1")
    ILLEGAL_GENERATION = (22, False, "the generation is not the group's present one")
    INCONSISTENT_GROUP_PROTOCOL = (23, False, "the member has no protocol in common with its group")
    INVALID_GROUP_ID = (24, False, "the group id is not a legal one here")
    UNKNOWN_MEMBER_ID = (25, False, "the group has no such member")
    INVALID_SESSION_TIMEOUT = (26, False, "the session timeout lies outside what the broker allows")
    REBALANCE_IN_PROGRESS = (27, False, "the group rebalances: join again")
    INVALID_COMMIT_OFFSET_SIZE = (28, False, "the commit is too large")
    TOPIC_AUTHORIZATION_FAILED = (29, False, "the client may not do this with the topic")
    GROUP_AUTHORIZATION_FAILED = (30, False, "the client may not do this with the group")
    CLUSTER_AUTHORIZATION_FAILED = (31, False, "the client may not do this with the cluster")
    INVALID_TIMESTAMP = (32, False, "the timestamp lies outside what the topic takes")
    UNSUPPORTED_SASL_MECHANISM = (33, False, "the listener does not offer this SASL mechanism")
    ILLEGAL_SASL_STATE = (34, False, "the request does not fit the state of the authentication")
    UNSUPPORTED_VERSION = (35, False, "this version of the request is not served")
    TOPIC_ALREADY_EXISTS = (36, False, "a topic of that name exists")
    INVALID_PARTITIONS = (37, False, "the number of partitions is not possible")
    INVALID_REPLICATION_FACTOR = (38, False, "the replication factor is not possible with these brokers")
    INVALID_REPLICA_ASSIGNMENT = (39, False, "the assignment of replicas is not possible")
    INVALID_CONFIG = (40, False, "a setting is unknown or has an impossible value")
    NOT_CONTROLLER = (41, True, "another broker is the controller")
    INVALID_REQUEST = (42, False, "the request contradicts itself or the protocol")
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (43, False, "the records have no such feature")
    POLICY_VIOLATION = (44, False, "a policy of the cluster forbids this")
    OUT_OF_ORDER_SEQUENCE_NUMBER = (45, False, "a batch of this producer is missing before this one")
    DUPLICATE_SEQUENCE_NUMBER = (46, False, "this batch was written before, too long ago to say where")
    INVALID_PRODUCER_EPOCH = (47, False, "a newer instance of this producer has taken over")
    INVALID_TXN_STATE = (48, False, "the transaction is not in a state that allows this")
    INVALID_PRODUCER_ID_MAPPING = (49, False, "the producer id does not belong to this transactional id")
    INVALID_TRANSACTION_TIMEOUT = (50, False, "the transaction timeout is above what the broker allows")
    CONCURRENT_TRANSACTIONS = (51, True, "the previous transaction of this producer is still ending")
    TRANSACTION_COORDINATOR_FENCED = (52, False, "another broker has taken over this transaction")
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (53, False, "the client may not use this transactional id")
    SECURITY_DISABLED = (54, False, "the listener has no security")
    OPERATION_NOT_ATTEMPTED = (55, False, "nothing was done, because another part of the request failed")
    KAFKA_STORAGE_ERROR = (56, True, "the disk refused the write or the read")
    LOG_DIR_NOT_FOUND = (57, False, "there is no such log folder")
    SASL_AUTHENTICATION_FAILED = (58, False, "the credentials are wrong")
    UNKNOWN_PRODUCER_ID = (59, False, "nothing is known of this producer")
    NON_EMPTY_GROUP = (68, False, "the group has members")
    GROUP_ID_NOT_FOUND = (69, False, "there is no such group")
    FETCH_SESSION_ID_NOT_FOUND = (70, True, "the fetch session is gone: open a new one")
    INVALID_FETCH_SESSION_EPOCH = (71, True, "the fetch session expected another epoch: open a new one")
    LISTENER_NOT_FOUND = (72, True, "the leader has no address on this listener")
    TOPIC_DELETION_DISABLED = (73, False, "topics may not be deleted here")
    FENCED_LEADER_EPOCH = (74, True, "the leader epoch is older than the broker's")
    UNKNOWN_LEADER_EPOCH = (75, True, "the leader epoch is newer than the broker's")
    UNSUPPORTED_COMPRESSION_TYPE = (76, False, "this version of the request knows no such compression")
    STALE_BROKER_EPOCH = (77, False, "the broker epoch is an old one")
    OFFSET_NOT_AVAILABLE = (78, True, "the end of the log is not known yet")
    MEMBER_ID_REQUIRED = (79, False, "join again with the member id in this answer")
    PREFERRED_LEADER_NOT_AVAILABLE = (80, True, "the preferred leader is away")
    GROUP_MAX_SIZE_REACHED = (81, False, "the group is full")
    FENCED_INSTANCE_ID = (82, False, "a newer member holds this group.instance.id")
    ELIGIBLE_LEADERS_NOT_AVAILABLE = (83, True, "no replica may lead")
    ELECTION_NOT_NEEDED = (84, True, "the leader is the right one already")
    NO_REASSIGNMENT_IN_PROGRESS = (85, False, "no reassignment is under way")
    GROUP_SUBSCRIBED_TO_TOPIC = (86, False, "a live member of the group subscribes to this topic")
    INVALID_RECORD = (87, False, "a record or its batch is malformed")
    UNSTABLE_OFFSET_COMMIT = (88, True, "a transaction that ends soon holds an offset of this partition")
    THROTTLING_QUOTA_EXCEEDED = (89, True, "a quota is used up for the moment")
    PRODUCER_FENCED = (90, False, "a newer producer with this transactional id has taken over")
    RESOURCE_NOT_FOUND = (91, False, "there is no such resource")
    DUPLICATE_RESOURCE = (92, False, "the request names a resource twice")
    UNACCEPTABLE_CREDENTIAL = (93, False, "the credential does not meet the rules")
    UNKNOWN_TOPIC_ID = (100, True, "no topic has this id")
    INCONSISTENT_TOPIC_ID = (103, True, "the session knows the topic under another id")
    TRANSACTIONAL_ID_NOT_FOUND = (105, False, "there is no such transactional id")
    FETCH_SESSION_TOPIC_ID_ERROR = (106, True, "the session mixes topic ids and names")
    FENCED_MEMBER_EPOCH = (110, False, "the member epoch is not one the coordinator gave: join anew")
    UNRELEASED_INSTANCE_ID = (111, False, "a live member holds this instance id")
    UNSUPPORTED_ASSIGNOR = (112, False, "the broker has no such assignor")
    STALE_MEMBER_EPOCH = (113, False, "the member epoch is an old one: heartbeat, then try again")
    UNKNOWN_SUBSCRIPTION_ID = (117, False, "there is no such telemetry subscription")
    TRANSACTION_ABORTABLE = (120, False, "the transaction can only be aborted")
    INVALID_RECORD_STATE = (121, False, "the record is not in a state that allows this")
    INVALID_REGULAR_EXPRESSION = (128, False, "the regular expression does not compile")
    REBOOTSTRAP_REQUIRED = (129, True, "the client must start again from its bootstrap servers")


def error_code(number: int) -> ErrorCode:
    """The code of a number; a number nobody knows is UNKNOWN_SERVER_ERROR, as Kafka's clients treat it."""
    return _BY_NUMBER.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


_BY_NUMBER = {int(code): code for code in ErrorCode}


class KafkaError(Exception):
    """Something that is answered with an error code.

    Shape: `code` and a sentence that names the thing, the reason and what to do.
    """

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.meaning)
        self.code = code
        self.message = message or code.meaning
