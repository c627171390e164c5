"""What is looked for since 2026-11-23: the earlier rules in any script, and labels in many languages."""
