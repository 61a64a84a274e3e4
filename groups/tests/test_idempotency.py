"""groups.idempotency."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from groups.idempotency import ABANDONED, answered_once
from groups.models import IdempotentRequest
from groups.problems import Problem

pytestmark = pytest.mark.django_db


class Act:
    """Counts how often it is done."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return 201, {"n": self.count}


def ask(act, key="k", request="POST /x", actor="ann"):
    return answered_once(actor=actor, key=key, request=request, act=act)


def test_the_same_key_acts_once():
    act = Act()
    assert ask(act) == ask(act) == (201, {"n": 1}) and act.count == 1


def test_keys_belong_to_their_actor():
    act = Act()
    ask(act)
    ask(act, actor="bob")
    ask(act, key="other")
    assert act.count == 3


def test_a_key_stands_for_one_request():
    ask(Act())
    with pytest.raises(Problem) as refused:
        ask(Act(), request="POST /y")
    assert refused.value.code == "IDEMPOTENCY_KEY_REUSED" and not refused.value.kind.retriable


def test_a_failure_frees_the_key():
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(fail)
    act = Act()
    assert ask(act) == (201, {"n": 1})


def test_a_second_one_while_the_first_runs_is_told_to_wait():
    def while_it_runs():
        with pytest.raises(Problem) as waiting:
            ask(Act())
        assert waiting.value.code == "STILL_RUNNING" and waiting.value.kind.retriable
        return 200, {}

    ask(while_it_runs)


def test_one_whose_process_died_is_taken_over():
    def dies_without_a_trace():
        IdempotentRequest.objects.update(created_at=timezone.now() - ABANDONED - timedelta(seconds=1))
        act = Act()
        assert ask(act) == (201, {"n": 1})
        return 201, {"n": "late"}

    ask(dies_without_a_trace)


def test_keys_of_any_characters_and_empty_answers():
    assert ask(lambda: (204, None), key="\x00 é" * 50) == (204, None)
    assert ask(Act(), key="\x00 é" * 50) == (204, None)


def test_an_answer_is_kept_sealed():
    ask(lambda: (201, {"token": "kaas_secret"}))
    row = IdempotentRequest.objects.get()
    assert "kaas_secret" not in str(vars(row)) and row.status == 201
    assert ask(Act()) == (201, {"token": "kaas_secret"})


def test_a_seal_of_another_secret_is_told_and_nothing_is_done_twice(settings):
    ask(Act())
    settings.SECRET_KEY = "another"
    act = Act()
    with pytest.raises(Problem) as lost:
        ask(act)
    assert lost.value.code == "ANSWER_LOST" and act.count == 0
