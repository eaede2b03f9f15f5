"""Documents are short, name files that exist, and tell what the configuration says."""

import os
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.repository import MADE, ROOT

DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/*.md")
    for path in ROOT.glob(pattern)
    if not MADE & set(path.parts)
)
MUST_NOT_EXIST = frozenset({"encodings/__init__.py"})


@cache
def files_and_folders() -> list[str]:
    """Return the paths of the project; an environment in it holds too many to look through."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in {".venv", ".git", *MADE}]
        found += [str(Path(folder, name).relative_to(ROOT)) for name in (*folders, *files)]
    return found


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def longest(document: str) -> int:
    """Return the length of the longest line, code aside."""
    text = re.sub(r"^```.*?^```$", "", text_of(document), flags=re.DOTALL | re.MULTILINE)
    return max(map(len, text.splitlines()))


def test_the_documents_are_found() -> None:
    names = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/PERFORMANCE.md"}
    assert names | {"benchmarks/RESULTS.md", "docs/solvers.md"} <= set(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_line_is_a_page(document: str) -> None:
    assert longest(document) <= (200 if document == "CHANGELOG.md" else 600)


def test_the_performance_log_holds_tables() -> None:
    _, *sections = re.split(r"^#+ .*\n", text_of("benchmarks/PERFORMANCE.md"), flags=re.MULTILINE)
    _introduction, *tables = sections
    assert len(tables) > 3
    for table in tables:
        rows = table.strip().splitlines()
        assert all(row.startswith("| ") or set(row) <= {"|", "-"} for row in rows)
        assert len({len(row.split(" | ")) for row in rows if row.startswith("| ")}) == 1


def test_the_changelog_has_the_version_of_the_package() -> None:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    assert f"\n## {project['version']}\n" in text_of("CHANGELOG.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_a_document_names_exist(document: str) -> None:
    known = files_and_folders()
    text = re.sub(r"^```.*?^```$", "", text_of(document), flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|toml|ipynb))`", text))
    named |= {name.rstrip("/") for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*/)`", text)}
    named |= set(re.findall(r"\]\((?!http)([^)#]+)\)", text))
    # building the site makes some, and fails without them
    for name in (name for name in named - MUST_NOT_EXIST if not MADE & {*Path(name).parts}):
        if "NAME" not in name and "STUDY" not in name:
            ending = f"/{name.removeprefix('../')}"
            assert any(f"/{path}".endswith(ending) for path in known), name


def room_of(entry: str) -> str:
    """Return a room of a layer, or the one that modules with a colon between them are in."""
    first, *others = entry.split(":")
    return first.strip().rpartition(".")[0] if others else first.strip()


def layers() -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield the root of each contract over rooms with its layers, highest first."""
    linter = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]
    for contract in linter["contracts"]:
        if "containers" not in contract:
            rows = [tuple(map(room_of, row.split("|"))) for row in contract["layers"]]
            root = rows[0][0].rpartition(".")[0]
            named = [tuple(n.removeprefix(f"{root}.") for n in row) for row in rows]
            yield root, [row for row in named if row[0] not in linter["root_packages"]]


@pytest.mark.parametrize(("root", "expected"), list(layers()))
def test_contributing_lists_the_rooms_as_the_contracts_do(
    root: str, expected: list[tuple[str, ...]]
) -> None:
    tables = re.findall(
        r"^\| level \|.*\n\|[-|]+\n((?:\|.*\n)+)", text_of("CONTRIBUTING.md"), re.MULTILINE
    )
    told = []
    for table in tables:
        levels: dict[int, tuple[str, ...]] = {}
        for row in table.splitlines():
            level, rooms = row.split("|")[1:3]
            known = levels.get(int(level), ())
            names = re.findall(r"`([\w/]+?)/?`", rooms)
            levels[int(level)] = known + tuple(name.replace("/", ".") for name in names)
        assert list(levels) == list(range(len(levels), 0, -1))
        told.append(list(levels.values()))
    assert expected in told, root
