"""A review item in progress: leased, displayed and answered by a person or another tool, and stored as labels."""
