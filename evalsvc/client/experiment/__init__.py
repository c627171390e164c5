"""Runs: the caller's code on examples that the service leases, and the experiment that this is part of."""
