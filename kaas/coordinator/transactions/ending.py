"""EndTxn: a transaction is committed or aborted, by its producer, by one that fences it, or by its clock.

Job: make the decision durable, have markers written to everything that the transaction touched, then make its end durable.
Rules: the producer is answered when the markers are written, so that what it does next sees what it did. Asking again for the
same end is harmless; asking for the other one is 48. From version 5 on the end gives the next epoch, so that a late message of
this transaction cannot land in the next one (KIP-890); its markers carry that epoch.
Source: Apache Kafka 4.2 `TransactionCoordinator.endTransaction`; KIP-98, KIP-890.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.effects import SendMarkers
from kaas.coordinator.transactions.deciding import decide
from kaas.coordinator.transactions.events import EndTransaction, MarkersFailed, MarkersWritten, ProducerAnswer
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import LAST_EPOCH, TransactionState
from kaas.coordinator.transactions.states import COMPLETE, ENDING, TxnState
from kaas.errors import ErrorCode

if TYPE_CHECKING:
    from kaas.coordinator.coordinator import Coordinator

RETRY_MS = 500
"""Between two attempts to write markers."""


def end(core: Coordinator, event: EndTransaction, now_ms: int) -> None:
    """Handle an EndTxn."""
    holder = core.transactions.get(event.transactional_id)
    if core.is_loading_transaction(event.transactional_id):
        refuse(core, event, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    elif not event.transactional_id:
        refuse(core, event, ErrorCode.INVALID_REQUEST)
    elif holder is None:
        refuse(core, event, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    elif event.bumps_epoch and is_repeated(holder.decided, event):
        answer_again(core, holder, event)
    elif holder.decided.producer_id != event.producer_id:
        refuse(core, event, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    elif holder.decided.epoch != event.epoch:
        refuse(core, event, event.fenced_code)
    else:
        end_by_state(core, holder, event, now_ms)


def refuse(core: Coordinator, event: EndTransaction, code: ErrorCode) -> None:
    core.out.reply(event.reply_to, ProducerAnswer(code))


def is_repeated(state: TransactionState, event: EndTransaction) -> bool:
    """Whether a producer asks with the identity it had before the end that it did not hear of."""
    if state.txn_state not in (*ENDING, *COMPLETE):
        return False
    same = event.producer_id == state.producer_id and event.epoch == state.epoch - 1 == state.last_epoch
    return same or (event.producer_id == state.previous_producer_id and event.epoch == state.last_epoch)


def answer_again(core: Coordinator, holder: Holder, event: EndTransaction) -> None:
    """The same end gives the same identity; the other one cannot be had any more."""
    state = holder.decided
    committed = state.txn_state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT)
    if committed != event.committed:
        refuse(core, event, ErrorCode.INVALID_TXN_STATE)
    elif holder.moving or state.txn_state in ENDING:
        refuse(core, event, ErrorCode.CONCURRENT_TRANSACTIONS)
    else:
        core.out.reply(event.reply_to, ProducerAnswer(ErrorCode.NONE, state.producer_id, state.epoch))


def end_by_state(core: Coordinator, holder: Holder, event: EndTransaction, now_ms: int) -> None:
    """The producer is the right one: what its transaction's state makes of the request."""
    state = holder.decided
    here = state.txn_state
    wanted = TxnState.COMPLETE_COMMIT if event.committed else TxnState.COMPLETE_ABORT
    if here is TxnState.ONGOING and not holder.moving:
        prepare(core, holder, committed=event.committed, bump=event.bumps_epoch, event=event, now_ms=now_ms)
    elif holder.moving or here in ENDING:
        preparing = TxnState.PREPARE_COMMIT if event.committed else TxnState.PREPARE_ABORT
        code = (
            ErrorCode.CONCURRENT_TRANSACTIONS if here in (preparing, TxnState.ONGOING) else ErrorCode.INVALID_TXN_STATE
        )
        refuse(core, event, code)
    elif event.bumps_epoch and not event.committed:  # nothing to abort, but what may still be under way is fenced
        prepare(core, holder, committed=False, bump=True, event=event, now_ms=now_ms)
    elif here is wanted and not event.bumps_epoch:
        core.out.reply(event.reply_to, ProducerAnswer(ErrorCode.NONE, state.producer_id, state.epoch))
    else:
        refuse(core, event, ErrorCode.INVALID_TXN_STATE)


def prepare(
    core: Coordinator, holder: Holder, *, committed: bool, bump: bool, event: EndTransaction | None, now_ms: int
) -> None:
    """Decide the end."""
    state = holder.decided
    changes: dict[str, Any] = {"updated_at": core.wall_ms(now_ms)}
    if state.txn_state is not TxnState.ONGOING:
        changes |= {"partitions": (), "groups": ()}
    if bump and state.epoch >= LAST_EPOCH and event is not None:
        changes |= {"previous_producer_id": state.producer_id, "producer_id": event.fresh_producer_id}
        changes |= {"last_epoch": state.epoch, "epoch": 0}
    elif bump:
        changes |= {"last_epoch": state.epoch, "epoch": state.epoch + 1}
    moved = state.moved(TxnState.PREPARE_COMMIT if committed else TxnState.PREPARE_ABORT, **changes)
    core.out.cancel_timer(timers.transaction(state.transactional_id))
    holder.ending = None if event is None else event.reply_to
    decide(core, holder, moved, Prepared(state.transactional_id, moved), moving=True)


def abort_for(core: Coordinator, holder: Holder, now_ms: int) -> None:
    """Abort an open transaction that its producer will not end: it is fenced by the next epoch."""
    prepare(core, holder, committed=False, bump=True, event=None, now_ms=now_ms)


def timed_out(core: Coordinator, transactional_id: str, now_ms: int) -> None:
    """An open transaction that took longer than its timeout holds readers back: aborted."""
    holder = core.transactions.get(transactional_id)
    if holder is not None and not holder.moving and holder.decided.txn_state is TxnState.ONGOING:
        abort_for(core, holder, now_ms)


def send_markers(core: Coordinator, state: TransactionState) -> None:
    """Have every partition and group of the transaction told how it ended. A rotated identity ends under its old id."""
    rotated = state.previous_producer_id >= 0 and state.epoch == 0 and state.last_epoch >= LAST_EPOCH
    core.out.effects.append(
        SendMarkers(
            transactional_id=state.transactional_id,
            producer_id=state.previous_producer_id if rotated else state.producer_id,
            epoch=state.last_epoch + 1 if rotated else state.epoch,
            committed=state.txn_state is TxnState.PREPARE_COMMIT,
            partitions=state.partitions,
            groups=state.groups,
        )
    )


class Prepared(msgspec.Struct, frozen=True):
    """Sends markers once the decision is durable."""

    transactional_id: str
    state: TransactionState

    def written(self, core: Coordinator, now_ms: int) -> None:
        send_markers(core, self.state)

    def failed(self, core: Coordinator, now_ms: int) -> None:
        """The transaction is as open as before: the producer may try again, and the clock runs on."""
        holder = core.transactions[self.transactional_id]
        core.out.set_timer(timers.transaction(self.transactional_id), now_ms + RETRY_MS)
        answer_end(core, holder, ProducerAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def answer_end(core: Coordinator, holder: Holder, answer: ProducerAnswer) -> None:
    if holder.ending is not None:
        token, holder.ending = holder.ending, None
        core.out.reply(token, answer)


def markers_written(core: Coordinator, event: MarkersWritten, now_ms: int) -> None:
    """Make the end durable. A marker that comes twice, or of an end that is long over, changes nothing."""
    holder = core.transactions.get(event.transactional_id)
    if holder is None or holder.in_flight or holder.decided.txn_state not in ENDING:
        return
    state = holder.decided
    done = TxnState.COMPLETE_COMMIT if state.txn_state is TxnState.PREPARE_COMMIT else TxnState.COMPLETE_ABORT
    moved = state.moved(done, partitions=(), groups=(), started_at=0, updated_at=core.wall_ms(now_ms))
    decide(core, holder, moved, Completed(event.transactional_id, moved), moving=True)


def markers_failed(core: Coordinator, event: MarkersFailed, now_ms: int) -> None:
    core.out.set_timer(timers.markers(event.transactional_id), now_ms + RETRY_MS)


def markers_due(core: Coordinator, transactional_id: str, now_ms: int) -> None:
    """Try again to write the markers."""
    holder = core.transactions.get(transactional_id)
    if holder is not None and not holder.in_flight and holder.decided.txn_state in ENDING:
        send_markers(core, holder.decided)


class Completed(msgspec.Struct, frozen=True):
    """Answers the producer."""

    transactional_id: str
    state: TransactionState

    def written(self, core: Coordinator, now_ms: int) -> None:
        holder = core.transactions[self.transactional_id]
        answer_end(core, holder, ProducerAnswer(ErrorCode.NONE, self.state.producer_id, self.state.epoch))

    def failed(self, core: Coordinator, now_ms: int) -> None:
        """The markers are written; only the note of it is not. They are sent again, which does no harm."""
        core.out.set_timer(timers.markers(self.transactional_id), now_ms + RETRY_MS)


def resume(core: Coordinator, holder: Holder, now_ms: int) -> None:
    """After a load: what was ending goes on ending, and an open transaction has what is left of its time."""
    state = holder.decided
    if state.txn_state in ENDING:
        send_markers(core, state)
    elif state.txn_state is TxnState.ONGOING:
        left_ms = state.started_at + state.timeout_ms - core.wall_ms(now_ms)
        core.out.set_timer(timers.transaction(state.transactional_id), now_ms + max(left_ms, 0))


def needs_new_producer_id(core: Coordinator, transactional_id: str) -> bool:
    """Whether the next end uses up the epochs of the producer id."""
    holder = core.transactions.get(transactional_id)
    return holder is not None and holder.decided.epoch >= LAST_EPOCH
