"""Gates: decisions with their evidence, the form that creates them, and the commands that repeat them in CI."""
