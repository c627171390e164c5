"""Compare: two configs, the difference in words, the examples behind it, labels in place, and a gate from here."""
