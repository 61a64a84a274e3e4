"""A kit for tests of whatever uses this app: a feed to write, a cluster in memory, callers of the API.

Rules: a fake here is tested code (groups/tests/test_gateway.py holds the cluster in memory to the contract of the real one).
"""
