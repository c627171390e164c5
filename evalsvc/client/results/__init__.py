"""What the service answers and what a run gave, as data: rows, estimates, verdicts, standings, tables and files."""
