"""Admin pages: evaluators and profiles."""

from evalsvc.catalog.admin import evaluators, profiles

__all__ = ["evaluators", "profiles"]
