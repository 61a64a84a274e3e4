"""Programs that a test needs and a machine may lack.

A test skips with the reason where the program is missing; with KAAS_REQUIRE_ALL=1, as in CI, it fails instead.
"""

from __future__ import annotations

import os
import shutil

import pytest

REQUIRE_ALL = "KAAS_REQUIRE_ALL"


def require(*programs: str) -> None:
    """Skip or fail the test unless all of these can be run."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        lacking(f"{' and '.join(missing)} not found")


def lacking(reason: str) -> None:
    """What this test needs is not there."""
    if os.environ.get(REQUIRE_ALL) == "1":
        pytest.fail(f"{reason}, and {REQUIRE_ALL}=1", pytrace=False)
    pytest.skip(reason)
