"""groups.alerts.outbox."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from groups.alerts import outbox
from groups.alerts.outbox import WAITS_S, deliveries_send, message_write
from groups.alerts.targets import Answer
from groups.choices import DeliveryState
from groups.models import Delivery, Webhook

pytestmark = pytest.mark.django_db

TAKEN, FAILED = Answer(status=204), Answer(status=500, error="It answered 500.")


class Clock:
    now = timezone.now()

    @classmethod
    def passes(cls, seconds):
        cls.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch):
    class Time(Clock):
        pass

    monkeypatch.setattr(outbox.timezone, "now", lambda: Time.now)
    return Time


@pytest.fixture
def webhook(db):
    return Webhook.objects.create(name="pager", url="https://example.org/x", secret="s" * 16)


class Target:
    """Answers in this order, and remembers what it was sent."""

    def __init__(self, *answers):
        self.answers, self.sent = list(answers), []

    def __call__(self, url, secret, delivery_id, body):
        self.sent.append((url, secret, delivery_id, body["event"]))
        return self.answers.pop(0)


def test_it_works(clock, webhook):
    one = message_write(webhook, "test")
    target = Target(TAKEN)
    assert deliveries_send(target) == 1
    assert target.sent == [("https://example.org/x", "s" * 16, str(one.pk), "test")]
    one.refresh_from_db()
    assert (one.state, one.attempts, one.status, one.ended_at) == (DeliveryState.DELIVERED, 1, 204, clock.now)
    assert deliveries_send(target) == 0


def test_it_is_tried_again_with_growing_waits_and_given_up_in_the_end(clock, webhook):
    one = message_write(webhook, "test")
    target = Target(*[FAILED] * (len(WAITS_S) + 1))
    for wait in WAITS_S:
        assert deliveries_send(target) == 1
        one.refresh_from_db()
        assert (one.state, one.error) == (DeliveryState.WAITING, "It answered 500.")
        assert one.next_at == clock.now + timedelta(seconds=wait)
        clock.passes(wait - 1)
        assert deliveries_send(target) == 0
        clock.passes(1)
    deliveries_send(target)
    one.refresh_from_db()
    assert (one.state, one.attempts, one.ended_at) == (DeliveryState.GIVEN_UP, len(WAITS_S) + 1, clock.now)
    assert sorted(WAITS_S) == list(WAITS_S)


def test_what_cannot_help_is_not_tried_again(clock, webhook):
    message_write(webhook, "test")
    deliveries_send(Target(Answer(error="It is an address inside of a network.", final=True)))
    assert Delivery.objects.get().state == DeliveryState.GIVEN_UP


def test_a_webhook_that_was_deleted_gives_up_what_waits(clock, webhook):
    message_write(webhook, "test")
    webhook.delete()
    deliveries_send(Target())
    one = Delivery.objects.get()
    assert (one.state, one.error, one.webhook_name) == (DeliveryState.GIVEN_UP, "The webhook was deleted.", "pager")


def test_a_twin_takes_what_is_left(clock, webhook):
    for _ in range(2):
        message_write(webhook, "test")
    seen = []

    def slow(url, secret, delivery_id, body):
        seen.append(delivery_id)
        return TAKEN

    rows = list(Delivery.objects.select_related("webhook").order_by("pk"))
    assert outbox._claim(rows[0])
    assert not outbox._claim(Delivery(pk=rows[0].pk, next_at=rows[1].next_at))
    deliveries_send(slow)
    assert seen == [str(rows[1].pk)]


def test_what_a_sender_took_that_died_comes_back(clock, webhook):
    message_write(webhook, "test")
    assert outbox._claim(Delivery.objects.get())
    target = Target(TAKEN)
    assert deliveries_send(target) == 0
    clock.passes(61)
    assert deliveries_send(target) == 1
    assert Delivery.objects.get().attempts == 2
