"""The descriptions on cards, for each family."""
