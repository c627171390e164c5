"""One folder for each area: its addresses in `urls`, its views, and what they read."""
