"""kaasadmin.static_files."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import AsyncClient, Client

from kaasadmin.static_files import PIECE_BYTES

SCRIPT = "/static/js/console.js"
LARGE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


def on_disk(url):
    return Path(finders.find(url.removeprefix("/static/"))).read_bytes()


async def whole(response):
    return b"".join([piece async for piece in response.streaming_content])


async def test_a_file_is_served_on_the_event_loop_without_a_warning():
    response = await AsyncClient().get(SCRIPT)
    assert response.status_code == 200 and await whole(response) == on_disk(SCRIPT)
    assert response["Content-Type"].startswith("text/javascript") and response["X-Content-Type-Options"] == "nosniff"


async def test_a_large_one_comes_in_pieces():
    response = await AsyncClient().get(LARGE)
    pieces = [piece async for piece in response.streaming_content]
    assert len(pieces) > 1 and max(map(len, pieces)) == PIECE_BYTES and b"".join(pieces) == on_disk(LARGE)


async def test_one_that_did_not_change_is_not_sent_again():
    first = await AsyncClient().get(SCRIPT)
    again = await AsyncClient().get(SCRIPT, headers={"If-Modified-Since": first["Last-Modified"]})
    assert again.status_code == 304 and "Content-Type" not in again


async def test_a_part_is_served():
    part = await AsyncClient().get(SCRIPT, headers={"Range": "bytes=0-9"})
    assert part.status_code == 206 and await whole(part) == on_disk(SCRIPT)[:10]


@pytest.mark.parametrize("path", ["/static/js/nothing.js", "/static/../manage.py"])
async def test_what_is_no_file_is_not_there(path):
    assert (await AsyncClient().get(path)).status_code == 404


def test_it_serves_sync_stacks_too():
    response = Client().get(SCRIPT)
    assert response.getvalue() == on_disk(SCRIPT)
