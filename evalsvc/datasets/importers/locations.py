"""Where a bad row is, and what is wrong with it: up to twenty of them, then the upload is refused."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from evalsvc.problems import FieldError, Invalid, escape

MAX_REPORTED = 20


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A row's location in an upload: for programs a JSON pointer, for people words."""

    pointer: str
    words: str


class Refusals:
    """What is wrong with an upload so far."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def add(self, location: SourceLocation, detail: str, *fields: str) -> None:
        """Note one; raises Invalid with all of them when there are enough."""
        pointer = "".join([location.pointer, *(f"/{escape(field)}" for field in fields)])
        self.add_error(FieldError(pointer, f"{location.words}: {detail}"))

    def add_error(self, error: FieldError) -> None:
        """Note one that is located already."""
        self.errors.append(error)
        if len(self.errors) >= MAX_REPORTED:
            raise Invalid(*self.errors)

    def stop(self, location: SourceLocation, detail: str, *fields: str) -> Invalid:
        """Note the last one: nothing after it can be read. The caller raises what this returns."""
        self.add(location, detail, *fields)
        return Invalid(*self.errors)

    def raise_if_any(self) -> None:
        """Refuse the upload if anything is wrong with it."""
        if self.errors:
            raise Invalid(*self.errors)


def require_package(name: str, refusals: Refusals) -> None:
    """Refuse a file whose format needs a package that an installation of the client alone does not have."""
    try:
        import_module(name)
    except ModuleNotFoundError:
        detail = f"To read this format here, run `pip install {name}`. The service reads it without."
        raise refusals.stop(SourceLocation("/file", "The file"), detail) from None
