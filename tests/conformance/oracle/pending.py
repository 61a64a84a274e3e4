"""Statements of the oracle that our broker does not fulfil yet, because what they speak of is not served.

They are expected to fail against it, and only against it; one that passes must leave this list.
"""

TRANSACTIONS = ("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit")
MODERN_GROUPS = ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
FEATURES = ("3-group.version-1", "4-group.version-1", "3-transaction.version-2", "4-transaction.version-2")

PENDING = frozenset(
    [
        *(f"test_the_table_promises_what_clients_rely_on[ours-{api}]" for api in (*TRANSACTIONS, *MODERN_GROUPS)),
        *(f"test_finalized_features_name_the_group_and_transaction_protocols[ours-{row}]" for row in FEATURES),
    ]
)
"""Names of tests."""
