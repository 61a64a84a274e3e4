"""Lag: how far groups are behind, now and over time.

`states` says what lag is, `ends` and `trail` hold what it is made from, `window` and `judging` say what two minutes of commits
mean; `samples`, `sampling` and `series` keep it for days, `behind` turns records into time.
"""
