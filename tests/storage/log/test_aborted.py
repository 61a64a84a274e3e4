from hypothesis import given
from hypothesis import strategies as st

from kaas.storage.log.aborted import AbortedTransaction, pack_aborted, unpack_aborted

numbers = st.integers(0, 2**63 - 1)
entries = st.lists(
    st.builds(
        AbortedTransaction, producer_id=numbers, first_offset=numbers, last_offset=numbers, last_stable_offset=numbers
    ),
    max_size=5,
)


@given(entries, st.integers(0, 33))
def test_entries_come_back_and_a_torn_one_does_not(rows, torn):
    assert unpack_aborted(pack_aborted(rows) + bytes(torn)) == rows


def test_the_layout_is_kafkas():
    one = AbortedTransaction(producer_id=1, first_offset=2, last_offset=3, last_stable_offset=4)
    assert pack_aborted([one]) == b"\0\0" + b"".join(n.to_bytes(8) for n in (1, 2, 3, 4))
