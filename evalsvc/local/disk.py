"""The disk that holds the home: whether it is full, and a reserve for when it is."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

BALLAST = "ballast"
MEBIBYTE = 1024 * 1024
BALLAST_BYTES = 64 * MEBIBYTE
FULL_BYTES = 16 * MEBIBYTE
SHORT_BYTES = BALLAST_BYTES + 2 * FULL_BYTES
"""With less than this a disk was full a moment ago, or will be: deleting the ballast alone does not end that."""


def is_short(home: Path) -> bool:
    """Return whether the disk is full, or has hardly more room than the ballast gave."""
    return _free(home) < SHORT_BYTES


def explain_shortage(home: Path) -> str:
    """Return what an operator must do about a full disk; empty while there is room."""
    if not is_short(home):
        return ""
    return f"The disk with {home} is full. Make room there; the service then continues without a restart."


def reserve_ballast(home: Path) -> None:
    """Write the file that is deleted when the disk is full, so that servers have room to recover or stop cleanly."""
    ballast = home / BALLAST
    if ballast.exists() or _free(home) < 4 * BALLAST_BYTES:
        return
    with ballast.open("wb") as file:
        file.truncate(BALLAST_BYTES)
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)


class DiskWatch:
    """Reports once that the disk is full, and once that it has room again."""

    def __init__(self, home: Path, report: Callable[[str], None]) -> None:
        self.home = home
        self.report = report
        self.is_full = False

    def check(self) -> None:
        """Delete the ballast of a full disk, and restore it when there is room."""
        if not self.is_full and _free(self.home) < FULL_BYTES:
            self.is_full = True
            (self.home / BALLAST).unlink(missing_ok=True)
            self.report(explain_shortage(self.home))
        elif self.is_full and not is_short(self.home):
            self.is_full = False
            reserve_ballast(self.home)
            self.report(f"The disk with {self.home} has room again.")


def _free(home: Path) -> int:
    return shutil.disk_usage(home).free
