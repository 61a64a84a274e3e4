"""kaasadmin.data_folder."""

from __future__ import annotations

import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from kaasadmin.data_folder import SOCKET_PATH_LIMIT, celery_broker_url, redis_url, secret_key, valkey_socket


def test_the_key_is_made_once_and_is_its_owners_alone(tmp_path):
    data = tmp_path / "new" / "data"
    key = secret_key(data)
    assert len(key) >= 50 and secret_key(data) == key
    assert stat.S_IMODE((data / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in data.iterdir()] == ["secret_key"]


def test_processes_that_start_at_once_have_the_same_key(tmp_path):
    with ThreadPoolExecutor(8) as many:
        assert len(set(many.map(secret_key, [tmp_path] * 16))) == 1


def test_a_short_folder_holds_the_socket_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = tmp_path if len(str(tmp_path)) < SOCKET_PATH_LIMIT - 20 else tmp_path.parent
    assert valkey_socket(short) == short.resolve() / "valkey.sock"


@pytest.fixture
def deep(tmp_path, monkeypatch):
    """A folder whose path is too long for a unix socket, and a temp folder of our own."""
    short = tmp_path / "t"
    short.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    folder = tmp_path / ("deep" * 15) / ("deeper" * 10)
    folder.mkdir(parents=True)
    return folder


def test_a_long_one_has_it_in_the_temp_folder_always_at_the_same_place(deep):
    path = valkey_socket(deep)
    assert path == valkey_socket(deep) and path != valkey_socket(
        deep.parent / "other-folder-that-is-as-long-as-the-first-was"
    )
    assert str(path).startswith(tempfile.gettempdir()) and path.parent.is_dir()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_others_may_enter_is_refused(deep):
    valkey_socket(deep).parent.chmod(0o755)
    with pytest.raises(PermissionError, match="REDIS_URL"):
        valkey_socket(deep)


def test_the_servers_url_is_the_given_one_or_the_sockets(tmp_path):
    assert redis_url(tmp_path, "redis://h:6379/1") == "redis://h:6379/1"
    assert redis_url(tmp_path, "").startswith("unix:///")


def test_celery_names_unix_sockets_its_own_way():
    assert celery_broker_url("unix:///data/valkey.sock") == "redis+socket:///data/valkey.sock"
    assert celery_broker_url("redis://h:6379/1") == "redis://h:6379/1"
