"""A few Kafka requests in plain bytes: set up topics, and read state back without any client library.

Only versions before the compact encodings are used: every broker that real clients talk to serves
them. An answer that carries an error raises BrokerError with Kafka's numeric code.
"""

import socket
import struct
import time

CREATE_TOPICS, CREATE_PARTITIONS, METADATA, FIND_COORDINATOR = 19, 37, 3, 10
OFFSET_FETCH, LIST_OFFSETS, FETCH, DESCRIBE_CONFIGS = 9, 2, 1, 32
API_VERSIONS, CONSUMER_GROUP_HEARTBEAT = 18, 68
TOPIC_ALREADY_EXISTS = 36
RETRIABLE = {3, 5, 14, 15, 16}  # unknown topic, no leader yet, coordinator loading, absent or moved
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class BrokerError(Exception):
    def __init__(self, what, code):
        super().__init__(f"{what} answered error {code}")
        self.code = code


class Writer:
    def __init__(self):
        self.parts = []

    def put(self, fmt, *values):
        self.parts.append(struct.pack(">" + fmt, *values))
        return self

    def string(self, value):
        if value is None:
            return self.put("h", -1)
        data = value.encode()
        return self.put(f"h{len(data)}s", len(data), data)

    def bytes(self):
        return b"".join(self.parts)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, fmt):
        values = struct.unpack_from(">" + fmt, self.data, self.at)
        self.at += struct.calcsize(">" + fmt)
        return values[0] if len(values) == 1 else values

    def string(self):
        size = self.take("h")
        return None if size < 0 else self.raw(size).decode()

    def blob(self):
        size = self.take("i")
        return b"" if size < 0 else self.raw(size)

    def raw(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def array(self, read):
        return [read(self) for _ in range(self.take("i"))]


class Broker:
    """The broker or cluster under test, seen from its bootstrap address HOST:PORT."""

    def __init__(self, bootstrap):
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.bootstrap = (host.strip("[]"), int(port))

    def call(self, address, key, version, body):
        head = Writer().put("hhi", key, version, 1).string("scenario-setup").bytes()
        frame = head + body.bytes()
        with socket.create_connection(address, timeout=10) as sock:
            sock.settimeout(15)
            sock.sendall(struct.pack(">i", len(frame)) + frame)
            size = struct.unpack(">i", self._exactly(sock, 4))[0]
            return Reader(self._exactly(sock, size)[4:])

    @staticmethod
    def _exactly(sock, size):
        data = bytearray()
        while len(data) < size:
            chunk = sock.recv(size - len(data))
            if not chunk:
                raise ConnectionError("the broker closed the connection instead of answering")
            data += chunk
        return bytes(data)

    def create_topic(self, name, partitions):
        body = Writer().put("i", 1).string(name).put("ih", partitions, 1).put("ii", 0, 0).put("i?", 15000, False)
        answer = self.call(self.bootstrap, CREATE_TOPICS, 4, body)
        answer.take("i")
        for _ in range(answer.take("i")):
            answer.string()
            code, _message = answer.take("h"), answer.string()
            if code not in (0, TOPIC_ALREADY_EXISTS):
                raise BrokerError(f"CreateTopics of {name}", code)
        self._retry(lambda: self.leaders(name, partitions))

    def create_partitions(self, name, total):
        body = Writer().put("i", 1).string(name).put("ii", total, -1).put("i?", 15000, False)
        answer = self.call(self.bootstrap, CREATE_PARTITIONS, 1, body)
        answer.take("ii"), answer.string()
        code = answer.take("h")
        if code:
            raise BrokerError(f"CreatePartitions of {name}", code)
        self._retry(lambda: self.leaders(name, total))

    def leaders(self, topic, expected=0):
        """{partition: (host, port)}; raises while a leader or a partition is missing."""
        body = Writer().put("i", 1).string(topic).put("?", False)
        answer = self.call(self.bootstrap, METADATA, 5, body)
        answer.take("i")
        nodes = {}
        for _ in range(answer.take("i")):
            node, host, port = answer.take("i"), answer.string(), answer.take("i")
            answer.string()
            nodes[node] = (host, port)
        answer.string(), answer.take("i")
        answer.take("i")
        code = answer.take("h")
        answer.string(), answer.take("?")
        found = {}
        for _ in range(answer.take("i")):
            bad, index, leader = answer.take("hii")
            for _ in range(3):
                answer.array(lambda a: a.take("i"))
            if not bad and leader in nodes:
                found[index] = nodes[leader]
        if code or len(found) < max(1, expected):
            raise BrokerError(f"Metadata of {topic}", code or 5)
        return found

    def _coordinator(self, group):
        answer = self.call(self.bootstrap, FIND_COORDINATOR, 1, Writer().string(group).put("b", 0))
        answer.take("i")
        code, _message = answer.take("h"), answer.string()
        if code:
            raise BrokerError(f"FindCoordinator of {group}", code)
        answer.take("i")
        host = answer.string()
        return host, answer.take("i")

    def committed(self, group, topic):
        """{partition: committed offset} of one topic, without partitions that have none."""
        return self._retry(lambda: self._committed(group, topic))

    def _committed(self, group, topic):
        answer = self.call(self._coordinator(group), OFFSET_FETCH, 5, Writer().string(group).put("i", -1))
        answer.take("i")
        offsets, worst = {}, 0
        for _ in range(answer.take("i")):
            name = answer.string()
            for _ in range(answer.take("i")):
                partition, offset, _epoch = answer.take("iqi")
                answer.string()
                worst = answer.take("h") or worst
                if name == topic and offset >= 0:
                    offsets[partition] = offset
        code = answer.take("h") or worst
        if code:
            raise BrokerError(f"OffsetFetch of {group}", code)
        return offsets

    def end_offsets(self, topic, committed=False):
        """{partition: offset after the last record}, or the last stable offset if `committed`."""
        found = {}
        for partition, address in self._retry(lambda: self.leaders(topic)).items():
            body = Writer().put("ib", -1, int(committed)).put("i", 1).string(topic).put("i", 1).put("iq", partition, -1)
            answer = self.call(address, LIST_OFFSETS, 2, body)
            answer.take("ii"), answer.string(), answer.take("i")
            _index, code, _timestamp, offset = answer.take("ihqq")
            if code:
                raise BrokerError(f"ListOffsets of {topic}-{partition}", code)
            found[partition] = offset
        return found

    def codecs(self, topic):
        """Names of the codecs that the stored batches of a topic carry."""
        found = set()
        for partition, address in self._retry(lambda: self.leaders(topic)).items():
            end, at = self.end_offsets(topic)[partition], 0
            while at < end:
                batches = list(self._batches(address, topic, partition, at))
                found.update(CODECS[attributes & 7] for _next, attributes in batches)
                at = batches[-1][0]
        return found

    def _batches(self, address, topic, partition, offset):
        body = Writer().put("iiiib", -1, 500, 1, 8 << 20, 0)
        body.put("i", 1).string(topic).put("i", 1).put("iqi", partition, offset, 8 << 20)
        answer = self.call(address, FETCH, 4, body)
        answer.take("ii"), answer.string(), answer.take("i")
        _index, code, _high, _stable = answer.take("ihqq")
        if code:
            raise BrokerError(f"Fetch of {topic}-{partition}", code)
        answer.array(lambda a: a.take("qq"))
        data, at = answer.blob(), 0
        while at + 61 <= len(data):
            base, length = struct.unpack_from(">qi", data, at)
            attributes, last = struct.unpack_from(">hi", data, at + 21)
            yield base + last + 1, attributes
            at += 12 + length

    def serves(self, key):
        """Whether the broker advertises an API."""
        answer = self.call(self.bootstrap, API_VERSIONS, 0, Writer())
        if answer.take("h"):
            return False
        return key in {answer.take("hhh")[0] for _ in range(answer.take("i"))}

    def broker_settings(self):
        """{name: value} of the settings that some broker of the cluster reports for itself."""
        answer = self.call(self.bootstrap, METADATA, 5, Writer().put("i", 0).put("?", False))
        answer.take("i"), answer.take("i")
        node = answer.take("i")
        body = Writer().put("i", 1).put("b", 4).string(str(node)).put("i", -1).put("?", False)
        answer = self.call(self.bootstrap, DESCRIBE_CONFIGS, 1, body)
        answer.take("i"), answer.take("i")
        code = answer.take("h")
        answer.string(), answer.take("b"), answer.string()
        if code:
            raise BrokerError("DescribeConfigs", code)
        settings = {}
        for _ in range(answer.take("i")):
            name, value = answer.string(), answer.string()
            answer.take("?b?")
            answer.array(lambda a: (a.string(), a.string(), a.take("b")))
            settings[name] = value
        return settings

    @staticmethod
    def _retry(ask, patience_s=15):
        deadline = time.monotonic() + patience_s
        while True:
            try:
                return ask()
            except BrokerError as failure:
                if failure.code not in RETRIABLE or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
