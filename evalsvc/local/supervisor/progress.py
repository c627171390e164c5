"""Progress messages of a start."""

import contextlib
import time
from collections.abc import Callable, Iterator


class StartProgress:
    """One line per step, with the seconds it took."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.started = time.monotonic()

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.write(f"  {what:<44} {time.monotonic() - began:5.1f} s")
