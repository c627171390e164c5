"""How well a ranked list of texts found what it should have."""
