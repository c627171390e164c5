"""Which units run when: units are claimed for all experiments in turn; the planner runs in its own thread."""
