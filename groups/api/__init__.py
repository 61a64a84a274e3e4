"""The REST edge of groups: addresses, shapes and documentation; every decision is made below it."""
