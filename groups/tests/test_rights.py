"""groups.rights."""

from __future__ import annotations

import asyncio
import time

import pytest
from django.db import DatabaseError

from groups import rights
from groups.access import Principal
from groups.rights import principal_since

ANN, BOB = (Principal(actor=name, user_id=number, grants=()) for number, name in enumerate(("ann", "bob")))


@pytest.fixture
def asked(monkeypatch):
    """Who was asked for, in place of the database."""
    found = []
    monkeypatch.setattr(rights, "_answers", {})
    monkeypatch.setattr(rights, "principal_again", lambda principal, now: found.append(principal.actor) or principal)
    return found


async def test_all_who_ask_at_once_share_one_question(asked):
    since = time.monotonic()
    answers = await asyncio.gather(*(principal_since(who, since) for who in (ANN, ANN, BOB, ANN)))
    assert [who.actor for who, _ in answers] == ["ann", "ann", "bob", "ann"] and sorted(asked) == ["ann", "bob"]


async def test_an_answer_serves_until_somebody_wants_a_younger_one(asked):
    _, first = await principal_since(ANN, 0.0)
    _, second = await principal_since(ANN, first)
    _, third = await principal_since(ANN, time.monotonic())
    assert first == second < third and asked == ["ann"] * 2


async def test_one_session_is_not_taken_for_another(asked):
    for key in ("a", "b"):
        await principal_since(Principal(actor="ann", user_id=1, grants=(), session_key=key), 0.0)
    assert len(asked) == 2


async def test_who_stops_waiting_takes_the_answer_from_nobody(asked):
    leaving, staying = (asyncio.create_task(principal_since(ANN, 0.0)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying)[0] is ANN


async def test_an_answer_is_forgotten(asked, monkeypatch):
    monkeypatch.setattr(rights, "KEPT_S", 0.0)
    await principal_since(ANN, 0.0)
    async with asyncio.timeout(5):
        while rights._answers:
            await asyncio.sleep(0.001)
    assert asked == ["ann"]


async def test_everybody_hears_that_the_database_does_not_answer(asked, monkeypatch):
    def fails(principal, now):
        raise DatabaseError("away")

    monkeypatch.setattr(rights, "principal_again", fails)
    found = await asyncio.gather(*(principal_since(ANN, 0.0) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in found] == [DatabaseError] * 2 and not rights._answers
