"""Start the service's processes in order, restart those that crash, and stop them all."""
