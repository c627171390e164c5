"""Admin rows of experiments: the list, one plan with the way to its board."""

from evalsvc.experiments.admin import plans

__all__ = ["plans"]
