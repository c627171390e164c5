"""Bodies in: read, checked and pointed at where something is wrong."""
