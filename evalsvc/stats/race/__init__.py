"""Which configs to stop while a race runs, and the evidence for it."""
