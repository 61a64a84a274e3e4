"""Statements of the oracle that our broker does not fulfil yet, because KIP-848 groups are not served.

They are expected to fail against it, and only against it; one that passes must leave this list.
"""

MODERN_GROUPS = ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")

PENDING = frozenset(
    [
        *(f"test_the_table_promises_what_clients_rely_on[ours-{api}]" for api in MODERN_GROUPS),
        *(
            f"test_finalized_features_name_the_group_and_transaction_protocols[ours-{v}-group.version-1]"
            for v in (3, 4)
        ),
    ]
)
"""Names of tests."""
