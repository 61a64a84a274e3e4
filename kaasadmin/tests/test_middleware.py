"""kaasadmin.middleware."""

from __future__ import annotations

import pytest
from django.test import AsyncClient, Client


def test_pages_and_answers_carry_the_headers_that_browsers_heed(db):
    for path in ("/healthz", "/login/", "/api/v1/clusters/"):
        response = Client().get(path)
        policy = response["Content-Security-Policy"]
        assert "unsafe-inline" not in policy and "frame-ancestors 'none'" in policy and "default-src 'self'" in policy
        assert response["X-Content-Type-Options"] == "nosniff" and response["X-Frame-Options"] == "DENY"
        assert response["Referrer-Policy"] == "same-origin" and response["Cross-Origin-Opener-Policy"] == "same-origin"


def test_every_request_has_an_id():
    one, two = Client().get("/healthz"), Client().get("/healthz")
    assert one["X-Request-ID"] != two["X-Request-ID"]


@pytest.mark.parametrize(
    ("given", "kept"), [("proxy-17.a_B", True), ("", False), ("x" * 65, False), ("a b", False), ("<script>", False)]
)
def test_a_proxys_id_is_kept_when_it_is_sane(given, kept):
    answered = Client().get("/healthz", headers={"X-Request-ID": given})["X-Request-ID"]
    assert (answered == given) is kept


async def test_it_serves_async_stacks_too():
    response = await AsyncClient().get("/healthz")
    assert response["X-Request-ID"] and response["Content-Security-Policy"]
