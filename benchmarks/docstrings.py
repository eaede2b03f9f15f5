"""Draw docstrings at random and print them with their places, to have them read by fresh eyes.

    python benchmarks/docstrings.py --seed 7 --count 30
    python benchmarks/docstrings.py --headless

With ``--headless`` it prints all whose first line begins with a word that names nothing.
"""

import argparse
import ast
import inspect
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tables import ROOT

FOLDERS = ("milp_verix", "encodings/verix_encodings", "checker/verix_checker")
HEADLESS = frozenset(["what", "that", "how", "whether", "where", "which", "all", "those", "others"])


class Docstring(NamedTuple):
    """A docstring, the file and line it stands in, and what it describes."""

    place: str
    of: str
    text: str

    @property
    def headless(self) -> bool:
        """A first word that names nothing."""
        first, second, *_ = [*self.text.lower().split(), "", ""]
        return first in HEADLESS or (first, second) == ("the", "rest")


def docstrings(file: Path) -> Iterator[Docstring]:
    """Yield the docstrings of a module, its classes, functions and constants, private ones too."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, described):
            continue
        for before, line in pairwise([node, *node.body]):
            is_text = isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
            if is_text and (before is node or isinstance(before, ast.Assign | ast.AnnAssign)):
                of = getattr(node, "name", "module") if before is node else ast.unparse(before)
                text = inspect.cleandoc(str(line.value.value))
                yield Docstring(f"{file.relative_to(ROOT)}:{line.lineno}", of[:60], text)


def main() -> None:
    """Print the docstrings that are asked for."""
    options = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    options.add_argument("folders", nargs="*", default=FOLDERS)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--count", type=int, default=30)
    options.add_argument("--headless", action="store_true")
    arguments = options.parse_args()
    files = [file for folder in arguments.folders for file in sorted((ROOT / folder).rglob("*.py"))]
    found = [docstring for file in files for docstring in docstrings(file)]
    if arguments.headless:
        chosen = [docstring for docstring in found if docstring.headless]
    else:
        chosen = random.Random(arguments.seed).sample(found, min(arguments.count, len(found)))
    for docstring in chosen:
        print(f"{docstring.place} ({docstring.of})\n{docstring.text}\n")
    print(f"{len(chosen)} of {len(found)} docstrings")


if __name__ == "__main__":
    main()
