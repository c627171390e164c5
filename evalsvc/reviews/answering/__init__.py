"""An item in the hands of a person or of another tool: leased, shown, answered, and kept as labels."""
