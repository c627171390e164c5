"""What is judged: which pairs on which examples, and one row for each judgement, written once."""
