"""One simulation from a seed, on a folder that is gone afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.simulation.coverage import Coverage
from tests.simulation.world import World

MEMORY = Path("/dev/shm")


def simulate(events: int, seed: int) -> Coverage:
    """Raises AssertionError, with the seed and the number of the event, when an invariant breaks."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="kaas-simulation-", dir=place) as folder:
        world = World(seed, Path(folder))
        try:
            world.run(events)
        except Exception as problem:
            problem.add_note(f"seed {seed}, event {world.events}")
            raise
        world.close()
    return world.coverage
