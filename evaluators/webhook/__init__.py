"""What a webhook evaluator sends and how its answer is read."""
