"""How laws are tested with hypothesis: the same examples in each run, and no deadline, as other work shares the machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

law = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
"""A decorator for a test with `@given`; `settings(law, max_examples=...)` for one that costs more, or is worth more."""
