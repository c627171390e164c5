"""The account "Demo history": something on every page, for the demo's member to look at."""
