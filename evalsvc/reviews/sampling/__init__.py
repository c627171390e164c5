"""From candidates to items: the frame that they stand in, and how they are drawn from it."""
