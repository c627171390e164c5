"""Experiments: the list, the board that moves while one runs, what people do to configs, the form for a new one."""
