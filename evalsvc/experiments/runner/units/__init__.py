"""The work on one unit: its context, what is asked of a config, a pipeline or a stage, and what is scored."""
