"""Reviews: questions put to people about outputs, pairs and evaluations; their answers are labels."""
