"""What `pyproject.toml` cannot say: the wheel has the guides of `docs/` beside the code that serves them."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DOCS = Path(__file__).with_name("docs")


class BuildWithGuides(build_py):
    def run(self):
        super().run()
        if not self.editable_mode and DOCS.is_dir():
            shutil.copytree(DOCS, Path(self.build_lib, "evalsvc", "guides", "docs"), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithGuides})
