"""Forms of pages: their fields, JSON and labels in them, and acts that are confirmed by a name."""
