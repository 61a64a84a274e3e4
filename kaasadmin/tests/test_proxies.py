"""The console behind proxies: one that takes a prefix off, one that leaves it, one that drops upgrades of websockets."""

from __future__ import annotations

import json
import re

import pytest
import requests
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from groups.login import OF_NAME_AND_ADDRESS
from groups.testing.feed import snapshot
from kaasadmin.tests.product import running
from kaasadmin.tests.proxy import proxied

BASE, PASSWORD = "/tools/kafka", "behind-a-proxy-7"


@pytest.fixture(scope="module")
def product(valkey, tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    with running(valkey, data, db=5, base=BASE, KAAS_ADMIN_PASSWORD=PASSWORD) as made:
        made.feed.group(snapshot("shop"))
        yield made


@pytest.fixture(scope="module", params=[BASE, ""], ids=["takes the prefix off", "leaves it"])
def proxy(request, product):
    with proxied(product.port, strip=request.param) as made:
        yield made


def signed_in(proxy, password=PASSWORD):
    session = requests.Session()
    url = f"http://127.0.0.1:{proxy.port}{BASE}"
    form = session.get(f"{url}/login/", timeout=10)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text)[1]
    fields = {"username": "admin", "password": password, "csrfmiddlewaretoken": token}
    answer = session.post(
        f"{url}/login/", data=fields, headers={"Origin": f"http://127.0.0.1:{proxy.port}"}, timeout=10
    )
    return session, url, answer


def test_one_signs_in_and_every_link_stays_below_the_prefix(proxy):
    session, url, page = signed_in(proxy)
    assert page.status_code == 200 and page.url == f"{url}/clusters/local/groups/"
    links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert len(links) > 10 and all(link.startswith(f"{BASE}/") for link in links)
    for link in {one for one in links if "/static/" in one}:
        assert session.get(f"http://127.0.0.1:{proxy.port}{link}", timeout=10).status_code == 200


def test_the_clients_address_is_the_one_that_the_proxy_tells(product):
    """Tries to sign in from one address close the name there, and leave it open for the proxy's other clients."""
    with proxied(product.port, client="203.0.113.9") as one, proxied(product.port, client="203.0.113.10") as other:
        for _ in range(OF_NAME_AND_ADDRESS.count):
            assert signed_in(one, "wrong")[2].status_code == 400
        assert signed_in(one)[2].status_code == 429 and signed_in(other)[2].status_code == 200


def test_the_api_answers_below_the_prefix(proxy, product):
    bearer = {"Authorization": f"Bearer {product.token}"}
    answer = requests.get(
        f"http://127.0.0.1:{proxy.port}{BASE}/api/v1/clusters/local/groups/", headers=bearer, timeout=10
    )
    assert [row["group_id"] for row in answer.json()["items"]] == ["shop"]


async def test_sockets_are_live_through_it(proxy, product):
    own = {"Authorization": f"Bearer {product.token}", "Origin": f"http://127.0.0.1:{proxy.port}"}
    url = f"ws://127.0.0.1:{proxy.port}{BASE}/ws/clusters/local/groups/shop/"
    async with connect(url, additional_headers=own) as live:
        assert json.loads(await live.recv())["group"]["group_id"] == "shop"


async def test_where_upgrades_are_dropped_the_socket_is_refused_and_the_rest_works(product):
    bearer = {"Authorization": f"Bearer {product.token}"}
    with proxied(product.port, strip=BASE, upgrades=False) as proxy:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(
                f"ws://127.0.0.1:{proxy.port}{BASE}/ws/clusters/local/groups/", additional_headers=bearer
            ):
                pass
        assert refused.value.response.status_code == 404
        _, _, page = signed_in(proxy)
        assert page.status_code == 200 and "shop" in page.text
