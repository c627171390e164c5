"""Move in from files that other products write: read and checked whole first, then sent."""
