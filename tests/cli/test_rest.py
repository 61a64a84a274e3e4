"""kaas.cli.rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.keys import key_of as key_of_the_console
from kaas.cli.exits import Exit, Failed
from kaas.cli.rest import Rest, key_of, segment
from tests.support.ports import free_port


def failure(rest, method="GET", path="clusters/"):
    with pytest.raises(Failed) as failed:
        rest.ask(method, path)
    return failed.value


def test_it_asks_with_the_token_and_gives_the_json(console):
    console.says("GET", "/api/v1/clusters/", {"items": []})
    assert Rest(f"{console.url}/", "kaas_t").ask("GET", "clusters/", {"search": "a b", "state": (), "topic": None}) == {
        "items": []
    }
    assert console.asked[0]["headers"]["Authorization"] == "Bearer kaas_t" and console.asked[0]["query"] == "search=a+b"


def test_without_a_token_none_is_sent(console, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    failure(Rest(console.url, ""))
    assert "Authorization" not in console.asked[0]["headers"]


@given(st.text())
def test_keys_are_those_of_the_console(id_):
    try:
        id_.encode()
    except UnicodeEncodeError:
        with pytest.raises(Failed):
            key_of(id_)
    else:
        assert key_of(id_) == key_of_the_console(id_)


def test_a_name_is_one_segment():
    assert segment("a/b c?#") == "a%2Fb%20c%3F%23"


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (400, Exit.REFUSED),
        (401, Exit.REFUSED),
        (403, Exit.REFUSED),
        (404, Exit.NOT_FOUND),
        (409, Exit.REFUSED),
        (429, Exit.UNREACHABLE),
        (500, Exit.REFUSED),
        (502, Exit.REFUSED),
        (503, Exit.UNREACHABLE),
        (504, Exit.UNREACHABLE),
    ],
)
def test_a_failure_ends_as_scripts_expect(console, status, ends):
    console.says("GET", "/api/v1/clusters/", {"message": "Why."}, status)
    failed = failure(Rest(console.url, ""))
    assert (failed.status, str(failed), failed.problem) == (ends, "Why.", {"message": "Why."})


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>"), (302, b""), (404, b"<html>"), (502, b"[]"), (500, b"1")]
)
def test_what_no_console_answers_is_another_address(console, status, body):
    console.says("GET", "/api/v1/clusters/", body, status)
    failed = failure(Rest(console.url, ""))
    assert failed.status == Exit.UNREACHABLE and "is this its address?" in str(failed)


def test_nobody_there_is_unreachable():
    assert failure(Rest(f"http://127.0.0.1:{free_port()}", "")).status == Exit.UNREACHABLE


@pytest.mark.parametrize("server", ["", "console", "ftp://console", "http://", "https:///x"])
def test_an_address_that_is_none_is_a_usage_error(server):
    with pytest.raises(Failed) as failed:
        Rest(server, "")
    assert failed.value.status == Exit.USAGE


@pytest.mark.parametrize("token", ["a\nb", "kaas_\r", "ä", "a b"])
def test_a_token_that_would_break_the_header_is_a_usage_error(token):
    with pytest.raises(Failed) as failed:
        Rest("http://console", token)
    assert failed.value.status == Exit.USAGE


def test_a_broken_write_is_tried_once_more_with_the_same_key(console):
    console.says("POST", "/api/v1/tokens/", {"id": 1}, 201)
    console.broken = 1
    assert Rest(console.url, "").ask("POST", "tokens/", body={"name": "n"}) == {"id": 1}
    first, second = console.asked
    assert first["headers"]["Idempotency-Key"] == second["headers"]["Idempotency-Key"] and first["body"] == {
        "name": "n"
    }


def test_a_connection_that_breaks_twice_is_unreachable(console):
    console.broken = 2
    assert failure(Rest(console.url, "")).status == Exit.UNREACHABLE


def test_an_answer_without_a_body_is_null(console):
    console.says("DELETE", "/api/v1/tokens/1/", b"", 204)
    assert Rest(console.url, "").ask("DELETE", "tokens/1/") is None
