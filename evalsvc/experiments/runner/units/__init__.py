"""The processing of one unit: its context, the queries to a config, a pipeline or a stage, and the scoring."""
