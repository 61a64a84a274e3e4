"""The fixtures of this app's tests."""

from groups.testing.fixtures import admin_user, api, async_db, feed, gateway, make_caller, valkey, world

__all__ = ["admin_user", "api", "async_db", "feed", "gateway", "make_caller", "valkey", "world"]
