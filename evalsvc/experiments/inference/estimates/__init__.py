"""One metric of one config: what it is, where it would settle, and what it was when somebody looked."""
