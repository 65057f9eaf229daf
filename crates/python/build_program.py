"""Builds the package: first the program that it contains, then the extension module by maturin."""

import os
import pathlib
import shutil
import subprocess

from maturin import *  # noqa: F403
import maturin

HERE = pathlib.Path(__file__).resolve().parent


def build_wheel(*arguments, **options):
    """Builds a wheel; PEP 517."""
    root = HERE.parent.parent
    subprocess.check_call(["cargo", "build", "--release", "--locked", "--package", "tidegate"], cwd=root)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    place = HERE / "python/tidegate/bin"
    place.mkdir(exist_ok=True)
    shutil.copy2(root / target / "release/tidegate", place)
    return maturin.build_wheel(*arguments, **options)
