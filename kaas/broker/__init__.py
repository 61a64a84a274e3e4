"""The asyncio shell: sockets, timers, threads of the disk. It carries out what the pure parts decide.

Bottom-up: clock, timers, settings; connection and dispatch; group_service (the coordinator's shell) and topic_service (the
logs'); handlers, one file per API key; server, which wires them; `python -m kaas.broker` starts it.
"""
