"""With ``--strict-skips`` a skip that is not listed fails the run, wherever it was reported."""

from pathlib import Path

import pytest

from tests import allowed_skips
from tests.allowed_skips import ALLOWED, allowed_here, not_allowed
from tests.support.browser import NO_BROWSER
from tests.support.pytest_runs import run_pytest

ABSENT = "the published file models/none.onnx is not here"
NO_BINARY = "PuLP does not find 'GLPK_CMD' here; what it finds: HiGHS"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reason", "workers", "ends"),
    [
        (["--strict-skips"], "no time", 1, 1),
        (["--strict-skips"], "no time", 0, 1),
        (["--strict-skips"], NO_BINARY, 0, 0),
        ([], "no time", 0, 0),
    ],
)
def test_a_run_fails_by_a_skip_that_is_not_listed(
    options: list[str], reason: str, workers: int, ends: int, tmp_path: Path
) -> None:
    text = f"import pytest\n\ndef test_it():\n    pytest.skip({reason!r})\n"
    (tmp_path / "test_skipping.py").write_text(text, encoding="utf-8")
    done = run_pytest(tmp_path, "-n", str(workers), *options)
    assert done.returncode == ends, done.stdout + done.stderr
    assert (f"SKIPPED WITHOUT LEAVE: {reason}" in done.stdout) == bool(ends)


def test_published_files_may_be_absent_only_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowed_skips, "SHARED", tmp_path / "shared")
    assert not_allowed([ABSENT], allowed_here()) == []
    (tmp_path / "shared").mkdir()
    assert not_allowed([f"Skipped: {ABSENT}", ABSENT], allowed_here()) == [ABSENT]


def test_a_reason_must_match_as_a_whole() -> None:
    others = ["no licence", f"because {NO_BINARY}"]
    assert not_allowed([NO_BINARY, *others], ALLOWED) == others


def test_each_allowed_skip_says_why() -> None:
    assert all(len(item.why.split()) > 5 for item in [*ALLOWED, allowed_skips.WITHOUT_SHARED])


def test_a_browser_may_be_absent_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed_skips, "why_not", lambda: None)
    assert not_allowed([NO_BROWSER], allowed_here()) == [NO_BROWSER]
    monkeypatch.setattr(allowed_skips, "why_not", lambda: NO_BROWSER)
    assert not_allowed([NO_BROWSER], allowed_here()) == []
