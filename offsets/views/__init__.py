"""The pages of offsets, in the same rooms as the API: every decision is made below both."""
