"""The REST edge of offsets: addresses, shapes and documentation; every decision is made below it."""
