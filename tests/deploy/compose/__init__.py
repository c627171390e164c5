"""The compose stack, started as it is shipped."""
