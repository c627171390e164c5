"""What people say about a log: criteria, and the labels under them."""
