"""The files that a release uploads, and how they are cited: built here, without the network."""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.support.repository import ROOT

pytestmark = pytest.mark.slow
PACKAGES = {
    "milp_verix": "milp_verix",
    "verix_checker": "checker/verix_checker",
    "verix_encodings": "encodings/verix_encodings",
}
PICTURE = re.compile(r"!\[([^\]]+)\]\(([^)]+)\)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def build(source: Path, target: Path, *options: str) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(target)]
    subprocess.run([*command, str(source)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_index_accepts_the_files(dist: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stem = f"milp_verix-{version['project']['version']}"
    files = sorted(str(path) for path in dist.iterdir())
    assert [Path(file).name for file in files] == [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]
    for command in (["twine", "check", "--strict", *files], ["check_wheel_contents", files[0]]):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_the_wheel_holds_the_packages_and_nothing_else(dist: Path, tmp_path: Path) -> None:
    found = contents(dist)
    expected = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in found if ".dist-info/" not in name} == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= expected
    assert max(map(len, found.values())) < 100_000
    build(ROOT, tmp_path, "--wheel")
    assert contents(tmp_path) == found


def test_an_editable_install_copies_no_code(tmp_path: Path) -> None:
    # a copy would be imported in the place of the file that is edited
    code = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True)
    assert not [name for name in contents(tmp_path) if name.endswith(".py")]


def test_the_sdist_holds_the_sources_and_no_more(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CITATION.cff", "LICENSE", "docs/conf.py", "tests/conftest.py"} <= names
    made = {"__pycache__", ".venv", ".git", "_build", "made"}
    assert not [name for name in names if made & {*Path(name).parts}]
    assert sdist.stat().st_size < 3_000_000


def test_the_readme_of_the_package_has_no_link_into_the_repository(dist: Path) -> None:
    (metadata,) = (data for name, data in contents(dist).items() if name.endswith("/METADATA"))
    told = metadata.decode("utf-8").partition("\n\n")[2]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(not target.startswith("http") for _, target in LINK.findall(readme))
    assert all(target.startswith("https://") for _, target in LINK.findall(told))
    # nothing but pictures and the targets of links is changed
    assert LINK.sub(r"\1", told) == LINK.sub(r"\1", PICTURE.sub(r"*\1*", readme))


def test_with_an_address_an_index_shows_the_picture_and_the_links() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tool = tomllib.loads(text)["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    announced = re.findall(r"'(!?\[\\1\]\(ADDRESS/.*?\))' for", text)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for rule, replacement in zip(tool["substitutions"], announced, strict=True):
        told = replacement.replace("ADDRESS", "https://example.org/x")
        readme = re.sub(rule["pattern"], told.replace("$HFPR_VERSION", "1"), readme)
    page = MarkdownIt("commonmark").render(readme)
    assert 'src="https://example.org/x/raw/v1/docs/_static/digit.png"' in page
    assert 'href="https://example.org/x/blob/v1/docs/start.md"' in page
    assert not re.search('(?:src|href)="(?!https://)', page)


def test_the_citation_is_that_of_the_start_page() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (paper,) = cited["references"]
    titles = [title.replace("{", "").replace("}", "") for title in _bibtex("title", page)]
    assert titles == [cited["title"], paper["title"]]
    ours, theirs = _bibtex("author", page)
    (author,) = cited["authors"]
    assert ours == f"{{{author['name']}}}" == f"{{{project['authors'][0]['name']}}}"
    names = [f"{who['family-names']}, {who['given-names']}" for who in paper["authors"]]
    assert theirs == " and ".join(names)
    assert cited["license"] == project["license"]
    assert paper["url"] in project["urls"].values()


def _bibtex(field: str, text: str) -> list[str]:
    """Return the values of a field of the references in ``text``."""
    return re.findall(rf"\b{field} = \{{(.*?)\}}, \w+ = ", text)
