"""Two web processes on one database and one Redis: what one of them does, the other knows at once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from groups.testing.feed import snapshot
from kaasadmin.tests.product import running

ALLOWANCE = 60


@pytest.fixture(scope="module")
def both(valkey, tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    with running(valkey, data, db=6, processes=2, KAAS_API_PER_MINUTE=str(ALLOWANCE)) as made:
        yield made


def ask(product, method, path, token=None, body=None, **headers):
    bearer = {"Authorization": f"Bearer {token or product.token}", **headers}
    return requests.request(
        method, f"http://127.0.0.1:{product.port}/api/v1/{path}", json=body, headers=bearer, timeout=20
    )


def made_token(product, **more):
    answer = ask(product, "POST", "tokens/", body={"name": "script", "role": "read", **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_token_that_one_revokes_ends_its_sockets_at_the_other(both):
    one, other = both
    one.feed.group(snapshot("shop"))
    token = made_token(one)
    bearer = {"Authorization": f"Bearer {token['token']}"}
    async with connect(f"ws://127.0.0.1:{other.port}/ws/clusters/local/groups/", additional_headers=bearer) as live:
        assert json.loads(await live.recv())["type"] == "snapshot"
        assert ask(one, "DELETE", f"tokens/{token['id']}/").status_code == 204
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                await live.recv()
    assert closed.value.rcvd.code == 4403
    assert ask(other, "GET", "clusters/", token["token"]).status_code == 401


def test_a_write_that_reaches_both_at_once_is_done_once(both):
    def make(product):
        return ask(product, "POST", "tokens/", body={"name": "once", "role": "read"}, **{"Idempotency-Key": "a-key"})

    with ThreadPoolExecutor(4) as crowd:
        answers = list(crowd.map(make, both * 2))
    assert {answer.status_code for answer in answers} <= {201, 409}
    made = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(made) == 1
    listed = ask(both[0], "GET", "tokens/").json()["items"]
    assert [row["id"] for row in listed if row["name"] == "once"] == list(made)


def test_an_allowance_is_one_for_both(both):
    token = made_token(both[0])["token"]
    with ThreadPoolExecutor(4) as crowd:
        answers = list(
            crowd.map(lambda number: ask(both[number % 2], "GET", "clusters/", token), range(ALLOWANCE + 10))
        )
    # A window may end in between, and then a second one begins.
    assert 0 < [answer.status_code for answer in answers].count(429) <= 10
    assert {answer.status_code for answer in answers} == {200, 429}
