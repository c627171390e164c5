"""An account ends: all that is its own is deleted, by a command or as its admins have ordered, and files forget it."""
