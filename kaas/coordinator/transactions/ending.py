"""EndTxn: a transaction is committed or aborted, by its producer, by one that fences it, or by its clock.

Job: make the decision durable, have markers written to everything that the transaction touched, then make its end durable.
Rules: the producer is answered when the markers are written, so that what it does next sees what it did. Asking again for the
same end is harmless; asking for the other one is 48. From version 5 on the end gives the next epoch, so that a late message of
this transaction cannot land in the next one (KIP-890); its markers carry that epoch. A fence takes the next epoch as well. Who
was told how the transaction ended is not told again, until a restart forgets it.
Source: Apache Kafka 4.2 `TransactionCoordinator.endTransaction`; KIP-98, KIP-890.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.core import Core
from kaas.coordinator.effects import SendMarkers
from kaas.coordinator.transactions.deciding import RETRY_MS, check_id, decide, watch
from kaas.coordinator.transactions.events import EndTransaction, MarkersFailed, MarkersWritten, ProducerAnswer
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import LAST_EPOCH, NONE, TransactionState
from kaas.coordinator.transactions.states import COMPLETE, ENDING, TxnState
from kaas.errors import ErrorCode


def end(core: Core, event: EndTransaction, now_ms: int) -> None:
    """Handle an EndTxn."""
    holder = core.transactions.get(event.transactional_id)
    code = check_id(core, holder, event.transactional_id)
    if code or holder is None:
        refuse(core, event, code)
    elif is_repeated(holder.decided, event):
        answer_again(core, holder.decided, event)
    elif code := holder.decided.refusal(event.producer_id, event.epoch, event.fenced_code):
        refuse(core, event, code)
    else:
        end_by_state(core, holder, event, now_ms)


def refuse(core: Core, event: EndTransaction, code: ErrorCode) -> None:
    core.out.reply(event.reply_to, ProducerAnswer(code))


def is_repeated(state: TransactionState, event: EndTransaction) -> bool:
    """Whether a producer asks with the identity it had before the end that it did not hear of."""
    ended = state.txn_state in (*ENDING, *COMPLETE)
    return event.bumps_epoch and ended and (event.producer_id, event.epoch) == state.last_identity


def answer_again(core: Core, state: TransactionState, event: EndTransaction) -> None:
    """The same end gives the same identity; the other one cannot be had any more. A fence that has used up the producer id
    leaves nothing to go on with."""
    committed = state.txn_state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT)
    if committed != event.committed:
        refuse(core, event, ErrorCode.INVALID_TXN_STATE)
    elif state.txn_state in ENDING:
        refuse(core, event, ErrorCode.CONCURRENT_TRANSACTIONS)
    elif state.epoch > LAST_EPOCH:
        refuse(core, event, event.fenced_code)
    else:
        core.out.reply(event.reply_to, ProducerAnswer(ErrorCode.NONE, *state.identity))


def end_by_state(core: Core, holder: Holder, event: EndTransaction, now_ms: int) -> None:
    """The producer is the right one: what its transaction's state makes of the request."""
    state = holder.decided
    here = state.txn_state
    wanted = TxnState.COMPLETE_COMMIT if event.committed else TxnState.COMPLETE_ABORT
    nothing_to_abort = event.bumps_epoch and not event.committed and here not in ENDING
    if here is TxnState.ONGOING or nothing_to_abort:  # what may still be under way is fenced, even if nothing has begun
        if event.bumps_epoch and state.is_used_up and event.fresh_producer_id == NONE:
            refuse(core, event, ErrorCode.CONCURRENT_TRANSACTIONS)  # it was used up while the request waited
            return
        holder.ending = event.reply_to
        prepare(core, holder, ended_by(state, event), now_ms, committed=event.committed)
    elif here in ENDING and (here is TxnState.PREPARE_COMMIT) == event.committed:
        refuse(core, event, ErrorCode.CONCURRENT_TRANSACTIONS)
    elif here is wanted and not event.bumps_epoch:
        core.out.reply(event.reply_to, ProducerAnswer(ErrorCode.NONE, *state.identity))
    else:
        refuse(core, event, ErrorCode.INVALID_TXN_STATE)


def ended_by(state: TransactionState, event: EndTransaction) -> dict[str, Any]:
    """The identity that a producer goes on with after the end it asks for."""
    if not event.bumps_epoch:
        return {}
    return {**fence(state), "next_producer_id": event.fresh_producer_id if state.is_used_up else NONE}


def fence(state: TransactionState) -> dict[str, Any]:
    """The next epoch of the same producer id."""
    return {"last_epoch": state.epoch, "epoch": state.epoch + 1}


def prepare(core: Core, holder: Holder, identity: dict[str, Any], now_ms: int, *, committed: bool) -> None:
    """Decide the end."""
    state, wall_ms = holder.decided, core.wall_ms(now_ms)
    changes = {**identity, "updated_at": wall_ms}
    if state.txn_state is not TxnState.ONGOING:
        changes |= {"partitions": (), "groups": (), "started_at": wall_ms}
    moved = state.moved(TxnState.PREPARE_COMMIT if committed else TxnState.PREPARE_ABORT, **changes)
    decide(core, holder, moved, Prepared(state.transactional_id), now_ms)


def abort_for(core: Core, holder: Holder, now_ms: int) -> None:
    """Abort an open transaction that its producer will not end: it is fenced by the next epoch."""
    prepare(core, holder, fence(holder.decided), now_ms, committed=False)


def timed_out(core: Core, transactional_id: str, now_ms: int) -> None:
    """An open transaction that took longer than its timeout holds readers back: aborted."""
    holder = core.transactions.get(transactional_id)
    if holder is not None and not holder.moving and holder.decided.txn_state is TxnState.ONGOING:
        abort_for(core, holder, now_ms)


def send_markers(core: Core, holder: Holder) -> None:
    """Have everybody told how the transaction ended who has not been told yet."""
    state = holder.decided
    core.out.effects.append(
        SendMarkers(
            transactional_id=state.transactional_id,
            producer_id=state.producer_id,
            epoch=state.epoch,
            committed=state.txn_state is TxnState.PREPARE_COMMIT,
            partitions=tuple(one for one in holder.untold if not isinstance(one, str)),
            groups=tuple(one for one in holder.untold if isinstance(one, str)),
        )
    )


def tell_all(core: Core, holder: Holder) -> None:
    """The decision is durable: send markers to all that the transaction touched."""
    holder.untold = (*holder.decided.partitions, *holder.decided.groups)
    send_markers(core, holder)


class Prepared(msgspec.Struct, frozen=True):
    """Sends markers once the decision is durable."""

    transactional_id: str

    def written(self, core: Core, now_ms: int) -> None:
        tell_all(core, core.transactions[self.transactional_id])

    def failed(self, core: Core, now_ms: int) -> None:
        """The transaction is as open as before: the producer may try again, and the clock runs on."""
        holder = core.transactions[self.transactional_id]
        answer_end(core, holder, ProducerAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def answer_end(core: Core, holder: Holder, answer: ProducerAnswer) -> None:
    if holder.ending is not None:
        token, holder.ending = holder.ending, None
        core.out.reply(token, answer)


def markers_written(core: Core, event: MarkersWritten, now_ms: int) -> None:
    """Make the end durable. A marker that comes twice, or of an end that is long over, changes nothing."""
    holder = core.transactions.get(event.transactional_id)
    if holder is None or holder.moving or not ends_now(holder.decided, event.producer_id, event.epoch):
        return
    holder.untold = ()
    state = holder.decided
    done = TxnState.COMPLETE_COMMIT if state.txn_state is TxnState.PREPARE_COMMIT else TxnState.COMPLETE_ABORT
    moved = state.moved(done, partitions=(), groups=(), updated_at=core.wall_ms(now_ms), **rotated(state))
    decide(core, holder, moved, Completed(event.transactional_id), now_ms)


def rotated(state: TransactionState) -> dict[str, Any]:
    """An end that has used up the producer id is marked under it, then gives a new one."""
    if state.next_producer_id == NONE:
        return {}
    new = {"producer_id": state.next_producer_id, "epoch": 0, "next_producer_id": NONE}
    return {**new, "previous_producer_id": state.producer_id}


def ends_now(state: TransactionState, producer_id: int, epoch: int) -> bool:
    """Whether these are the markers that the id waits for."""
    return state.txn_state in ENDING and state.identity == (producer_id, epoch)


def markers_failed(core: Core, event: MarkersFailed, now_ms: int) -> None:
    """Some have not been told: they will be later."""
    holder = core.transactions.get(event.transactional_id)
    if holder is not None and ends_now(holder.decided, event.producer_id, event.epoch):
        holder.untold = event.untold
        core.out.set_timer(timers.markers(event.transactional_id), now_ms + RETRY_MS)


def markers_due(core: Core, transactional_id: str, now_ms: int) -> None:
    """Try again to write the markers."""
    holder = core.transactions.get(transactional_id)
    if holder is not None and not holder.moving and holder.decided.txn_state in ENDING:
        send_markers(core, holder)


class Completed(msgspec.Struct, frozen=True):
    """Answers the producer."""

    transactional_id: str

    def written(self, core: Core, now_ms: int) -> None:
        holder = core.transactions[self.transactional_id]
        answer_end(core, holder, ProducerAnswer(ErrorCode.NONE, *holder.decided.identity))

    def failed(self, core: Core, now_ms: int) -> None:
        """Everybody has been told; only the note of it is not written. It is tried again."""
        core.out.set_timer(timers.markers(self.transactional_id), now_ms + RETRY_MS)


def resume(core: Core, holder: Holder, now_ms: int) -> None:
    """After a load: what was ending goes on ending, and an open transaction has what is left of its time."""
    if holder.decided.txn_state in ENDING:
        tell_all(core, holder)
    watch(core, holder.decided, now_ms)


def needs_new_producer_id(core: Core, transactional_id: str) -> bool:
    """Whether the next end uses up the epochs of the producer id."""
    holder = core.transactions.get(transactional_id)
    return holder is not None and holder.decided.is_used_up
