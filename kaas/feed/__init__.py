"""The live feed: what the broker tells the console, and how it travels over Redis. Both sides import this room and no other."""
