"""kaasadmin.middleware."""

from __future__ import annotations

import pytest
import structlog
from django.test import AsyncClient, Client


def test_pages_and_answers_carry_the_headers_that_browsers_heed(db):
    for path in ("/healthz", "/login/", "/api/v1/clusters/"):
        response = Client().get(path)
        policy = response["Content-Security-Policy"]
        assert "unsafe-inline" not in policy and "frame-ancestors 'none'" in policy and "default-src 'self'" in policy
        assert response["X-Content-Type-Options"] == "nosniff" and response["X-Frame-Options"] == "DENY"
        assert response["Referrer-Policy"] == "same-origin" and response["Cross-Origin-Opener-Policy"] == "same-origin"


def test_pages_and_answers_are_compressed_for_who_takes_that(admin_user, feed):
    client = Client(headers={"Accept-Encoding": "gzip"})
    client.force_login(admin_user)
    for path in ("/audit/", "/api/schema/"):
        response = client.get(path)
        assert response["Content-Encoding"] == "gzip" and response.content[:2] == b"\x1f\x8b"
    assert "Content-Encoding" not in Client().get("/login/")


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


def test_writes_are_logged_with_what_was_answered_and_reads_only_for_whoever_looks(db, client):
    with structlog.testing.capture_logs() as logs:
        client.post("/logout/")
        client.get("/login/")
        client.get("/healthz")
    told = [(line["log_level"], line["method"], line["path"], line["status"]) for line in logs]
    assert told == [("info", "POST", "/logout/", 302), ("debug", "GET", "/login/", 200)]
    assert logs[0]["duration_ms"] >= 0


def test_behind_tls_browsers_come_over_tls_only(settings):
    assert "Strict-Transport-Security" not in Client().get("/healthz", secure=True)
    settings.SECURE_HSTS_SECONDS = 1_000
    client = Client()  # middleware reads the setting once
    assert client.get("/healthz", secure=True)["Strict-Transport-Security"] == "max-age=1000"
    assert "Strict-Transport-Security" not in client.get("/healthz")


def test_other_sites_may_not_use_what_is_ours(client):
    answer = client.get("/healthz")
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin" and "camera=()" in answer["Permissions-Policy"]
