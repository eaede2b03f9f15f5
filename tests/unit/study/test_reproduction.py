import shlex
from pathlib import Path

import numpy as np
import pytest

from milp_verix import explain_many, read_study, write_report
from milp_verix.study.study_inputs import indices_in
from milp_verix.study.study_summary import hashes, ranges
from tests.support.command_line import run_here
from tests.support.digits_example import IMAGES, MODEL, network
from tests.support.pages import check_page, image, study


@pytest.mark.parametrize("indices", [[0], [0, 1, 2], [3, 5, 6, 9], list(range(0, 20, 3))])
def test_ranges_name_the_indices(indices: list[int]) -> None:
    assert indices_in(ranges(indices), 30) == indices


def test_ranges_are_short() -> None:
    assert ranges([0, 1, 2, 7, 9, 10]) == "0:3,7,9:11"


def test_hashes_are_those_of_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "journals"
    folder.mkdir()
    journal = study(tmp_path, image(1))
    (folder / "a.jsonl").write_bytes(journal.read_bytes())
    assert hashes(folder)[0] == ("a.jsonl", hashes(journal)[0][1])


@pytest.mark.parametrize(
    ("tasks", "more"),
    [
        ("explain", {"norm": "l1", "grid": {"order": ["sequential", "influence"]}}),
        (["contrastive", "explain"], {"domain": (-0.5, float("inf")), "time_limit": 60}),
    ],
)
def test_the_command_on_the_page_makes_the_same_tasks(tmp_path: Path, tasks, more) -> None:  # type: ignore[no-untyped-def]
    journal = tmp_path / "study.jsonl"
    with np.load(IMAGES) as data:
        images = data["images"]
    explain_many(
        network(),
        images,
        epsilon=[0.01, 8 / 255],
        journal=journal,
        task=tasks,
        indices=[1, 3],
        **more,
    )
    before = read_study(journal)
    told = check_page(write_report(journal)).all("code")[0].words.replace("\\", "")
    program, *arguments = shlex.split(told)
    assert program == "milp-verix"
    places = {"digits.onnx": MODEL, "INPUTS": f"{IMAGES}:images", "study.jsonl": journal}
    done = run_here(*(places.get(text, text) for text in arguments))
    assert done.returncode == 0, done.stderr
    after = read_study(journal)
    assert sorted(after["key"]) == sorted(before["key"])
    assert len(journal.read_text(encoding="utf-8").splitlines()) == len(before)
