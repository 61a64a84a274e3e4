"""The pages of groups, in the same rooms as the API: every decision is made below both."""
