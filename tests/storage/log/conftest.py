import pytest
from hypothesis import settings

from kaas.storage.log.files import OpenFiles
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.writer import LogResources

settings.register_profile("untimed", deadline=None)  # how long an example takes says something of the machine only
settings.load_profile("untimed")


@pytest.fixture
def open_files():
    return OpenFiles(limit=4)


@pytest.fixture
def resources(open_files):
    return LogResources(open_files, RecentBatches())


@pytest.fixture
def folder(tmp_path):
    """The folder of a partition."""
    path = tmp_path / "topic" / "0"
    path.mkdir(parents=True)
    return path
