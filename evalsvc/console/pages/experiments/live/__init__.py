"""The board of an experiment: its rows, its charts, and what all who watch it share."""
