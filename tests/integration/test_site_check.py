"""The offline check of the built site finds dead links and pictures without words."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

SOUND = """<h1 id="top">A</h1> <a href="#top">up</a> <a href="sub/two.html#there">two</a>
<a href="https://example.org/nowhere">elsewhere</a> <img src="a%20b.png" alt="a digit">"""


def run(site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "docs" / "check_site.py", site]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def site(folder: Path, index: str) -> Path:
    (folder / "sub").mkdir()
    (folder / "index.html").write_text(index)
    (folder / "sub" / "two.html").write_text('<p id="there"><a href="../index.html">back</a></p>')
    (folder / "a b.png").write_bytes(b"")
    words = {"xgboost": 0, "gurobi": [1, 0], "counterfactu": 2, "proof": 3}
    held = {"docnames": ["trees", "solvers", "smallest", "certificates"], "titleterms": words}
    (folder / "searchindex.js").write_text(f"Search.setIndex({json.dumps(held)})")
    return folder


def test_a_word_that_leads_elsewhere_is_named(tmp_path: Path) -> None:
    index = site(tmp_path, SOUND) / "searchindex.js"
    index.write_text(index.read_text().replace('"proof": 3', '"proof": 0'))
    done = run(tmp_path)
    said = "searchindex.js: 'proof' is in no heading of the page 'certificates'"
    assert (done.returncode, done.stderr.strip()) == (1, said)


def test_a_sound_site_passes(tmp_path: Path) -> None:
    done = run(site(tmp_path, SOUND))
    assert (done.returncode, done.stderr) == (0, "")


def test_each_fault_is_named(tmp_path: Path) -> None:
    no_words = "index.html: the picture 'a%20b.png' has no alternative text"
    faults = [
        ('<a href="three.html">x</a>', "index.html: the link 'three.html' leads nowhere"),
        ('<a href="sub/two.html#a">x</a>', "index.html: the link 'sub/two.html#a' leads nowhere"),
        ('<a href="#gone">x</a>', "index.html: the link '#gone' leads nowhere"),
        ('<img src="c.png" alt="words">', "index.html: the link 'c.png' leads nowhere"),
        ('<img src="a%20b.png">', no_words),
        ('<img src="a%20b.png" alt="../a b.png">', no_words),
    ]
    done = run(site(tmp_path, SOUND + "".join(fault for fault, _ in faults)))
    assert done.returncode == 1
    assert sorted(done.stderr.splitlines()) == sorted(said for _, said in faults)
