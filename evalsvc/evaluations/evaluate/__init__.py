"""A call from its plan to its answer: accept, capture, wait, recognise a repeat."""
