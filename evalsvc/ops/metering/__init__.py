"""Metrics of `/metrics` besides request counts: queues, workers, the clock's tasks, experiments, pools, the build."""
