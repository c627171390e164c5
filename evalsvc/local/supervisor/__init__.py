"""Start the service's processes in order, keep them running, stop them all."""
