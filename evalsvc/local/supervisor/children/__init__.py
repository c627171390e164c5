"""A process that is watched over: executed, or forked from one that has imported all that it needs."""
