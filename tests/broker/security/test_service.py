"""The files of users, rules and quotas, and the certificates: brought in, put in force, taken anew."""

import asyncio
import json
import ssl

import pytest
import structlog

from kaas.broker.security import quotas, rules
from kaas.broker.security.watched import BadFile
from kaas.broker.server import Server
from kaas.broker.settings import BadSetting, parse
from kaas.storage.files import CLUSTER_FOLDER
from kaas.wire.apis import HEARTBEAT
from tests.broker.handlers.groups import QUICK, stable
from tests.support.certificates import Authority
from tests.support.in_process import serving
from tests.support.waiting import until_async

ALLOWED = {
    "permission_type": "ALLOW",
    "principal": "User:*",
    "operations": ["READ"],
    "resource_type": "GROUP",
    "resource_name": "g",
}


def put(folder, name, text):
    (folder / CLUSTER_FOLDER).mkdir(parents=True, exist_ok=True)
    other = folder / "other"
    other.write_text(text)
    other.rename(folder / CLUSTER_FOLDER / name)


def put_rules(folder, *rows):
    put(folder, rules.FILE_NAME, json.dumps({"rules": rows}))


def server(folder, *pairs):
    return Server(data=folder, host="127.0.0.1", port=0, broker_id=1, settings=parse(pairs))


async def looked(peer):
    """One round of looking, without the wait for it."""
    security = peer.server.security
    looking = asyncio.get_running_loop().create_future()
    looking.set_result(await asyncio.to_thread(security.refresh))
    security._looked(looking)


async def test_without_files_nothing_is_in_force(tmp_path):
    async with serving(tmp_path) as peer:
        assert peer.broker.rules is None and not peer.broker.quotas and not peer.server.security.has_rules


async def test_rules_are_in_force_from_the_first_request_on(tmp_path):
    put_rules(tmp_path, ALLOWED)
    async with serving(tmp_path) as peer:
        for group, code in (("g", 25), ("h", 30)):
            beat = {"group_id": group, "generation_id": 1, "member_id": "m"}
            assert (await peer.ask(HEARTBEAT, 3, **beat)).error_code == code


async def test_super_users_and_the_default_come_from_settings(tmp_path):
    put_rules(tmp_path)
    for name, value in (("super_users", "User:ANONYMOUS"), ("allow_everyone_if_no_acl_found", "true")):
        async with serving(tmp_path, **{name: value}) as peer:
            beat = {"group_id": "g", "generation_id": 1, "member_id": "m"}
            assert (await peer.ask(HEARTBEAT, 3, **beat)).error_code == 25


async def test_a_change_of_rules_is_in_force_for_requests_that_were_recognised_before(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer)
        for _ in range(4):
            assert (await peer.ask(HEARTBEAT, 4, **member.values)).error_code == 0
        put_rules(tmp_path)
        await looked(peer)
        assert (await peer.ask(HEARTBEAT, 4, **member.values)).error_code == 30
        put_rules(tmp_path, ALLOWED)
        await looked(peer)
        assert (await peer.ask(HEARTBEAT, 4, **member.values)).error_code == 0


async def test_files_are_looked_at_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr("kaas.broker.security.service.LOOK_S", 0.01)
    async with serving(tmp_path) as peer:
        put_rules(tmp_path)
        await until_async(lambda: peer.broker.rules is not None)
        put(tmp_path, quotas.FILE_NAME, json.dumps({"quotas": [{"user": "a", "request_rate": 1}]}))
        await until_async(lambda: bool(peer.broker.quotas))


async def test_a_file_that_breaks_while_it_runs_changes_nothing(tmp_path):
    put_rules(tmp_path)
    async with serving(tmp_path) as peer:
        before = peer.broker.rules
        put(tmp_path, rules.FILE_NAME, "{")
        with structlog.testing.capture_logs() as logs:
            await looked(peer)
        assert peer.broker.rules is before and [one["log_level"] for one in logs] == ["error"]


@pytest.mark.parametrize("name", ["rules.json", "quotas.json", "users.json"])
async def test_a_broken_file_ends_the_start(tmp_path, name):
    put(tmp_path, name, "{")
    with pytest.raises(BadFile, match=name):
        await server(tmp_path).start()


async def test_a_listener_that_cannot_speak_tls_ends_the_start(tmp_path):
    with pytest.raises(BadSetting, match="TLS"):
        await server(tmp_path, "listeners=SSL://127.0.0.1:0").start()


async def test_a_sasl_listener_without_users_is_said_aloud(tmp_path):
    with structlog.testing.capture_logs() as logs:
        async with serving(tmp_path, listeners="SASL_PLAINTEXT://127.0.0.1:0"):
            pass
    assert any("nobody can sign in" in one["event"] for one in logs)


async def seen_by(peer, authority):
    """Whose certificate a new connection sees."""
    context = ssl.create_default_context(cafile=authority.path)
    _, writer = await asyncio.open_connection("127.0.0.1", peer.broker.port, ssl=context)
    subject = writer.get_extra_info("ssl_object").getpeercert()["subject"]
    writer.close()
    return subject[0][0][1]


async def test_a_renewed_certificate_is_taken_and_a_broken_one_is_not(tmp_path):
    authority = Authority(tmp_path)
    keystore = tmp_path / "keystore.pem"
    keystore.write_bytes(authority.issue("first").read_bytes())
    async with serving(tmp_path / "data", listeners="SSL://127.0.0.1:0", ssl_keystore_location=keystore) as peer:
        assert await seen_by(peer, authority) == "first"
        for text, seen in ((authority.issue("second").read_text(), "second"), ("nonsense", "second")):
            other = tmp_path / "renewed"
            other.write_text(text)
            other.rename(keystore)
            await looked(peer)
            assert await seen_by(peer, authority) == seen
