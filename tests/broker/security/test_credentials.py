"""The file of users."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from kaas.broker.security import credentials
from kaas.broker.security.credentials import BadUser, finder
from kaas.broker.security.scram import HASHES, fits

FEW = 4_096


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / credentials.FILE_NAME


def test_a_user_has_keys_for_every_mechanism_and_no_password(path):
    credentials.add(path, "alice", "secret", FEW)
    keys = credentials.read(path)["alice"]
    assert keys.keys() == HASHES.keys()
    assert all(fits(mechanism, "secret", one) for mechanism, one in keys.items())
    assert len({one.salt for one in keys.values()}) == len(HASHES)
    assert b"secret" not in path.read_bytes()


def test_the_file_is_for_its_owner_alone(path):
    credentials.add(path, "alice", "secret", FEW)
    credentials.set_password(path, "alice", "other", FEW)
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_password_is_changed(path):
    credentials.add(path, "alice", "secret", FEW)
    credentials.set_password(path, "alice", "other", FEW)
    keys = credentials.read(path)["alice"]["SCRAM-SHA-256"]
    assert fits("SCRAM-SHA-256", "other", keys) and not fits("SCRAM-SHA-256", "secret", keys)


def test_a_user_is_removed(path):
    credentials.add(path, "alice", "secret", FEW)
    credentials.remove(path, "alice")
    assert credentials.read(path) == {}


def test_what_cannot_be_changes_nothing(path):
    credentials.add(path, "alice", "secret", FEW)
    before = path.read_bytes()
    for change, words in (
        (lambda: credentials.add(path, "alice", "x", FEW), "there is a user"),
        (lambda: credentials.set_password(path, "bob", "x", FEW), "there is no user"),
        (lambda: credentials.remove(path, "bob"), "there is no user"),
        (lambda: credentials.add(path, "", "x", FEW), "cannot be"),
        (lambda: credentials.add(path, "a\nb", "x", FEW), "cannot be"),
        (lambda: credentials.add(path, "bob", "", FEW), "empty"),
        (lambda: credentials.add(path, "bob", "a\0b", FEW), "zero character"),
    ):
        with pytest.raises(BadUser, match=words):
            change()
    assert path.read_bytes() == before


def test_changes_that_come_at_one_time_all_count(path):
    names = [f"user {number}" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: credentials.add(path, name, "secret", FEW), names))
    assert sorted(credentials.read(path)) == names


@pytest.mark.parametrize("data", [b"", b"[]", b'{"users": {"a": {}}}', b'{"users": {"a": {"SCRAM-SHA-256": {}}}}'])
def test_a_file_that_cannot_be_understood_is_an_error_and_stays(path, data):
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(ValueError):
        credentials.add(path, "alice", "secret", FEW)
    assert path.read_bytes() == data


def test_keys_are_found_among_the_users_as_they_are_then():
    users = {}
    find = finder(lambda: users, "SCRAM-SHA-256")
    assert find("alice") is None
    users["alice"] = credentials.keys_of("secret", FEW)
    assert find("alice") is users["alice"]["SCRAM-SHA-256"]
