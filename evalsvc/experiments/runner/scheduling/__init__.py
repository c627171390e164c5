"""Which units run when: claimed for all experiments, in turns, with the planner beside them."""
