"""Boards in the terminal, and how an experiment that runs is followed on one."""
