"""The kit: each part that pages are put together from, with made-up numbers."""
