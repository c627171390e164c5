"""What `/metrics` says beyond counts of requests: queues, workers, the clock's tasks, experiments, pools, the build."""
