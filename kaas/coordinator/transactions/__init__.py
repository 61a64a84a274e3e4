"""Transactions: who holds a transactional id, what its open transaction has touched, how it ends.

The same rules as for groups: pure, decide, persist, apply, reply. A transaction's partitions live in logs and its offsets in
groups, perhaps at other brokers, so its end is two steps: the decision is made durable (`PrepareCommit`, `PrepareAbort`), then
markers go to everything that it touched, and only when all are written is it complete. A crash between any two of these steps
goes on with the next one.
"""
