"""Who a client is, what it may do, and how much of it: the security of the listeners.

From the outside in
- `tls`, `gates`: what a listener asks of a connection before it is served.
- `sasl` with `plain` and `scram`: the exchange that shows who a client is; `credentials`: the users' file.
- `names`: principals, and those that certificates give.
- `operations`: the table that says which API asks for which right; `rules`: who has which; `guard`: the one question that
  handlers ask.
- `limits`, `stalls`, `quotas`, `metering`: how many connections, for how long, how much.
- `watched`: files on the volume that are taken anew when they change.

Nothing here is in force unless a setting or a file says so; a connection that no rule and no quota concerns pays nothing.
"""
