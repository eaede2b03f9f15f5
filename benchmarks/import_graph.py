"""Count modules, folders, levels and circles of the import graph, commit by commit.

    python benchmarks/import_graph.py 19beb5c HEAD

A TREE is a commit or a folder. A room is a folder that lies in a root package, or a module beside
these folders; the lower floor of ``results`` is a room of its own. A circle is a set of modules or
rooms that import each other, directly or through others; a level is a step of the longest chain of
imports, in which a circle is one step. Imports inside functions count. The root packages themselves
are no rooms. The checker counts in trees where it is a package.
"""

import argparse
import importlib
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tables import ROOT, Table, add_write, write

PACKAGES = ("milp_verix", "verix_checker", "verix_encodings")

Edges = set[tuple[str, str]]


@contextmanager
def checked_out(tree: str) -> Iterator[Path]:
    """Yield a folder with the packages of a commit; a folder is yielded as it is."""
    if Path(tree).is_dir():
        yield Path(tree).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", tree],
            stdout=subprocess.PIPE,
            check=True,
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def imports_of(folder: Path) -> tuple[set[str], Edges]:
    """Return the modules of a tree, and which imports which."""
    ours = [str(folder / root) for root in ("", "checker", "encodings")]
    packages = [name for name in PACKAGES if any(Path(root, name).is_dir() for root in ours)]
    sys.path[:0] = ours
    importlib.invalidate_caches()
    try:
        graph = grimp.build_graph(*packages, cache_dir=None)
    finally:
        del sys.path[: len(ours)]
    edges = {
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    return graph.modules, edges


def between(edges: Edges, place: Callable[[str], str]) -> Edges:
    """Return the edges between the places of modules."""
    return {(place(a), place(b)) for a, b in edges if place(a) != place(b)}


def room(module: str) -> str:
    """Return the room that a module is in: the first two parts of its name."""
    return ".".join(module.split(".")[:2])


def levels_and_circles(edges: Edges) -> tuple[int, int]:
    """Return how many levels a graph has, each circle as one node, and how many circles."""
    names = sorted({name for edge in edges for name in edge})
    number = {name: k for k, name in enumerate(names)}
    rows, columns = np.array([[number[a], number[b]] for a, b in edges]).T
    matrix = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(names),) * 2)
    count, part = connected_components(matrix.tocsr(), connection="strong")
    below: dict[int, set[int]] = {k: set() for k in range(count)}
    for a, b in zip(part[rows].tolist(), part[columns].tolist(), strict=True):
        if a != b:
            below[a].add(b)
    height: dict[int, int] = {}
    for k in TopologicalSorter(below).static_order():
        height[k] = 1 + max((height[j] for j in below[k]), default=0)
    return max(height.values()), sum(size > 1 for size in Counter(part.tolist()).values())


def cells(tree: str) -> tuple[object, ...]:
    """Return the row of a tree."""
    with checked_out(tree) as folder:
        modules, edges = imports_of(folder)
    folders = {module.rpartition(".")[0] for module in modules} - {""}
    files = Counter(module.rpartition(".")[0] for module in modules - folders)
    rooms = {edge for edge in between(edges, room) if not set(edge) & set(PACKAGES)}
    return (
        *(named(tree), len(modules), len(folders), max(files.values())),
        *(len(edges), levels_and_circles(edges)[1]),
        *(len({room(module) for module in modules} - set(PACKAGES)), len(rooms)),
        *levels_and_circles(rooms),
    )


def named(tree: str) -> str:
    """Return the short name of a commit, or a folder's as it is."""
    if Path(tree).is_dir():
        return tree
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", tree]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(trees: Iterable[str], place: str | None) -> None:
    """Print a row for each tree."""
    table = Table(
        "tree | modules | folders | most modules in a folder | imports | circles of modules "
        "| rooms | imports between rooms | levels of rooms | circles of rooms"
    )
    for tree in trees:
        table.add(*cells(tree))
    if place:
        write(place, [table], [f"grimp {grimp.__version__}"])


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    options.add_argument("trees", nargs="+", metavar="TREE")
    add_write(options)
    arguments = options.parse_args()
    main(arguments.trees, arguments.write)
