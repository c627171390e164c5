"""An account moves to another server: what goes along, how it is written, and how it is brought in."""
