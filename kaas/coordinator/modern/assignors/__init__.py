"""Server-side assignors: who is to read what, by one rule each.

Job: `Request` in, target assignment out. `ASSIGNORS` has them by the names that clients and settings use.
Rules: pure and deterministic. A member gets only what it subscribes to, a partition goes to one member only, and every
partition that somebody subscribes to is given.
Must not know: epochs, who holds what at the moment, how members get there.
Source: KIP-848; PROTOCOL 4.5 in docs/PROTOCOL.md.
"""
