"""Messages to webhooks: written with what they tell of, sent later, tried again with growing waits, given up in the end.

Job: write a message; claim those that are due, send them, note what came of it.
Rules: whoever claims a message moves its time by a conditional update, so a twin takes another one, and one whose sender died
comes back by itself. So a message may arrive twice when a sender dies after it was taken: its id tells the receiver. What is
given up stays, with the reason.
Must not know: Celery, how HTTP is spoken.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from groups.alerts.selectors import alert_row
from groups.alerts.targets import Answer, post
from groups.choices import DeliveryState
from groups.models import Alert, Delivery, Webhook

WAITS_S = (10, 30, 120, 600, 1_800, 7_200)
"""How long after each failed try the next one comes; after the last of them it is given up."""

PER_STEP = 20
_AT_ONCE = 8
_LEASE = timedelta(seconds=60)

Send = Callable[[str, str, str, dict], Answer]


def message_write(webhook: Webhook, event: str, alert: Alert | None = None) -> Delivery:
    """Writes a message to a webhook, due at once. In a transaction it exists if what it tells of does."""
    now = timezone.now()
    body = {"version": 1, "event": event, "alert": None if alert is None else alert_row(alert)}
    return Delivery.objects.create(
        alert=alert,
        webhook=webhook,
        webhook_name=webhook.name,
        event=event,
        body=body,
        created_at=now,
        next_at=now,
    )


def deliveries_send(send: Send = post) -> int:
    """Sends up to PER_STEP messages that are due; how many were tried."""
    due = Delivery.objects.filter(state=DeliveryState.WAITING, next_at__lte=timezone.now())
    claimed = [one for one in due.select_related("webhook").order_by("next_at")[:PER_STEP] if _claim(one)]
    if not claimed:
        return 0
    # Only HTTP goes into the threads: connections to the database stay in this one.
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = list(threads.map(lambda one: _sent(one, send), claimed))
    for delivery, answer in zip(claimed, answers, strict=True):
        _note(delivery, answer, timezone.now())
    return len(claimed)


def _claim(delivery: Delivery) -> bool:
    mine = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING, next_at=delivery.next_at)
    delivery.attempts += 1
    return bool(mine.update(next_at=timezone.now() + _LEASE, attempts=F("attempts") + 1))


def _sent(delivery: Delivery, send: Send) -> Answer:
    webhook = delivery.webhook
    if webhook is None:
        return Answer(error="The webhook was deleted.", final=True)
    return send(webhook.url, webhook.secret, str(delivery.pk), delivery.body)


def _note(delivery: Delivery, answer: Answer, now: datetime) -> None:
    over = answer.final or delivery.attempts > len(WAITS_S)
    given = {"status": answer.status, "error": answer.error}
    if answer.is_taken:
        given |= {"state": DeliveryState.DELIVERED, "ended_at": now}
    elif over:
        given |= {"state": DeliveryState.GIVEN_UP, "ended_at": now}
    else:
        given |= {"next_at": now + timedelta(seconds=WAITS_S[delivery.attempts - 1])}
    Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING).update(**given)
