"""Reviews: the list, one with what it has found, a new one by form, and the queue that people answer."""
