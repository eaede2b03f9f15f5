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
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/**/*.md", "examples/*.md")
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
    names = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/history.md"}
    assert names | {"benchmarks/RESULTS.md", "docs/solvers.md"} <= set(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_line_is_a_page(document: str) -> None:
    assert longest(document) <= (200 if document == "CHANGELOG.md" else 600)


def test_the_history_has_a_row_for_each_change() -> None:
    _, *sections = re.split(r"^#+ .*\n", text_of("benchmarks/history.md"), flags=re.MULTILINE)
    _introduction, *tables = sections
    assert len(tables) > 3
    for table in tables:
        head, rule, *rows = table.strip().splitlines()
        assert head == "| commit | what changed | measured effect | kept or dropped |"
        assert rule == "|---|---|---|---|"
        cells = [row.strip("| ").split(" | ") for row in rows]
        assert {len(row) for row in cells} == {4}
        for commit, change, _, _ in cells:
            assert re.fullmatch(r"–|`\w{7,8}`(, `\w{7,8}`)*", commit), commit
            assert not re.match(r"(The same|Both)\b(?! .*`)", change), change


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


PAGES = {
    "milp_verix": ("CONTRIBUTING.md", 0),
    "verix_encodings": ("docs/extending.md", 1),
    "milp_verix.searches.minimum": ("docs/extending.md", 1),
}
"""The document that has the table of the rooms below a root, and its lowest level."""


def layers() -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield the root of each contract over rooms with its layers, highest first."""
    linter = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]
    below = {one["layers"][0]: one["layers"][1:] for one in linter["contracts"]}
    for contract in linter["contracts"]:
        rows = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
        (root,) = contract.get("containers", [rows[0][0].rpartition(".")[0]])
        rows += [row.split(" | ") for row in below.get(root, ())]
        if root in PAGES:
            yield root, [tuple(name.removeprefix(f"{root}.") for name in row) for row in rows]


@pytest.mark.parametrize(("root", "expected"), list(layers()))
def test_documents_list_the_rooms_as_the_contracts_do(
    root: str, expected: list[tuple[str, ...]]
) -> None:
    document, lowest = PAGES[root]
    tables = re.findall(r"^\| level \|.*\n\|[-|]+\n((?:\|.*\n)+)", text_of(document), re.MULTILINE)
    told = []
    for table in tables:
        levels: dict[int, tuple[str, ...]] = {}
        for row in table.splitlines():
            level, rooms = row.split("|")[1:3]
            known = levels.get(int(level), ())
            levels[int(level)] = known + tuple(re.findall(r"`(\w+)/?`", rooms))
        if min(levels) == lowest:
            assert list(levels) == list(range(lowest + len(levels) - 1, lowest - 1, -1))
            told.append([tuple(sorted(rooms)) for rooms in levels.values()])
    assert [tuple(sorted(rooms)) for rooms in expected] in told, root


def test_contributing_is_short_and_has_one_table_of_rooms() -> None:
    text = text_of("CONTRIBUTING.md")
    assert len(text.encode()) <= 6_500
    assert text.count("| level |") == 1
    folders = re.findall(r"^\| [1-9]\d? \| `\w+/` \|", text, flags=re.MULTILINE)
    modules = re.findall(r"^\| [1-9]\d? \| `\w+` \|", text, flags=re.MULTILINE)
    assert (len(folders), len(modules)) == (16, 2)
    assert "sixteen folders and two modules" in text
    for thing in ("a solver", "an encoding", "an operator", "an option"):
        assert f"\n## How to add {thing}\n" in text
