"""Microseconds to write an answer: our compiled writers beside kio's.

python -m benchmarks.encode
"""

from __future__ import annotations

import io
import timeit
from typing import Any

from kio.serial import entity_writer

from kaas.wire.apis import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, Api
from kaas.wire.decode import decode
from kaas.wire.encode import encode_response
from kaas.wire.schema import message_class

TIMES = 20_000


def commit_answer(rows: int) -> dict[str, Any]:
    partitions = [{"partition_index": number, "error_code": 0} for number in range(rows)]
    return {"topics": [{"name": "topic", "partitions": partitions}]}


def join_answer(members: int) -> dict[str, Any]:
    rows = [{"member_id": f"member-{number}", "metadata": bytes(50)} for number in range(members)]
    return {"generation_id": 1, "protocol_name": "range", "leader": "l", "member_id": "m", "members": rows}


CASES: tuple[tuple[str, Api, int, dict[str, Any]], ...] = (
    ("Heartbeat", HEARTBEAT, 4, {"error_code": 0}),
    ("OffsetCommit, 1 row", OFFSET_COMMIT, 8, commit_answer(1)),
    ("OffsetCommit, 20 rows", OFFSET_COMMIT, 8, commit_answer(20)),
    ("JoinGroup, 100 members", JOIN_GROUP, 5, join_answer(100)),
)


def main() -> None:
    print(f"{'':<28} {'ours':>8} {'kio':>8} us   ratio")
    for what, api, version, values in CASES:
        body = encode_response(api.key, version, values)
        entity = decode(api.key, version, "response", body)
        write = entity_writer(message_class(api.key, version, "response"))
        times = max(TIMES // max(len(body) // 50, 1), 100)
        ours = (
            timeit.timeit(lambda a=api, v=version, x=values: encode_response(a.key, v, x), number=times) / times * 1e6
        )
        kios = timeit.timeit(lambda w=write, e=entity: w(io.BytesIO(), e), number=times) / times * 1e6
        print(f"{what:<28} {ours:>8.2f} {kios:>8.2f}    {kios / ours:>6.2f}")


if __name__ == "__main__":
    main()
