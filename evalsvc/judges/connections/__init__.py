"""A connection as callers hold it: its facts, its secret, its checks, and the memory of a process."""
