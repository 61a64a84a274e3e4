"""The command line of the console: `python -m kaas.cli`.

Rules: it speaks the console's REST API and its sockets, nothing else; what it may do is what its token may do.
Must not know: the engine, Django, Kafka's protocol.
"""
