"""Admin pages of experiments: the list, the board that moves while one runs, clones, outputs."""

from evalsvc.experiments.admin import plans

__all__ = ["plans"]
