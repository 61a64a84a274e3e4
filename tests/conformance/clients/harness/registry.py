"""The table of scenarios: a name, the programs it needs, a time limit, and the function to call.

Names read property.client[.protocol], so that shell patterns choose rows and columns of the table. `modern` scenarios are left
out where the broker does not serve KIP-848 groups.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    needs: tuple[str, ...]
    limit_s: float
    play: Callable
    about: str
    modern: bool


class Table:
    def __init__(self):
        self.rows: dict[str, Scenario] = {}

    def add(self, name, play, needs, limit_s=60, *, modern=False, **arguments):
        """Adds one scenario that needs these programs, their names apart by spaces.

        `play(ctx, **arguments)` raises when the property does not hold; the first line of its
        docstring says the property.
        """
        if name in self.rows:
            raise ValueError(f"two scenarios are called {name}")
        about = (play.__doc__ or "").strip().splitlines()[0]
        self.rows[name] = Scenario(
            name=name,
            needs=tuple(needs.split()),
            limit_s=limit_s,
            play=lambda ctx: play(ctx, **arguments),
            about=about,
            modern=modern or arguments.get("protocol") == "consumer",
        )

    def for_clients(self, property_name, play, clients, limit_s=60, **arguments):
        """One scenario per client; a client written java.consumer uses that group protocol."""
        for client in clients.split():
            library, _, protocol = client.partition(".")
            extra = {"protocol": protocol} if protocol else {}
            self.add(f"{property_name}.{client}", play, library, limit_s, client=library, **extra, **arguments)
