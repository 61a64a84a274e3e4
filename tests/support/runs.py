"""One test run and its processes: pytest itself, and the workers of xdist.

What they share lies in a folder that the first process makes and names in the environment, which workers inherit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "KAAS_TEST_RUN"


def begin() -> bool:
    """Make the folder, unless a process above did. Whoever made it calls `end`."""
    if VARIABLE in os.environ:
        return False
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="kaas-tests-")
    return True


def run_folder() -> Path:
    """The folder of this run."""
    return Path(os.environ[VARIABLE])


def end() -> None:
    """Remove the folder."""
    shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)
