"""Journals of strangers: no command, path, page or cell made of one does what it says."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from milp_verix import InputError, read_result, read_study, write_report
from tests.support.pages import HOSTILE, Element, check_page, image, recorded, study, table
from tests.support.studies import written

RUN = "$(touch ran)`touch ran`;touch ran;'\"\n| touch ran #"


def page_of(journal: Path, **more: Any) -> Element:
    return check_page(write_report(journal, warn=lambda _: None, **more))


def command_of(folder: Path, file: str = "study.jsonl", **more: Any) -> str:
    """Return the command on the page of a study of one record with ``more`` in it."""
    journal = written(folder / file, recorded(0, None, **more))
    page = write_report(journal, warn=lambda _: None)
    (code,) = check_page(page).all("section")[-1].all("code")
    return code.text


def arguments_of(command: str, folder: Path) -> list[str]:
    """Run ``command`` in a shell, where milp-verix prints its arguments; return them."""
    program = folder / "milp-verix"
    program.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    program.chmod(0o755)
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=os.environ | path, capture_output=True, check=True
    )
    return done.stdout.decode().split("\0")[:-1]


SETTINGS = {
    "domain": [RUN, 1],
    "image_shape": [RUN, 2],
    "order": RUN,
    "solver": "$(touch ran)",
    "norm": ["$(touch ran)"],
    "features": {RUN: RUN},
    "against": "`touch ran`",
}


@pytest.mark.parametrize(
    "more",
    [
        {"epsilon": RUN},
        {"epsilon": "$(touch ran)"},
        {"settings": SETTINGS},
        {"settings": {RUN: 1, "x;touch ran;": 2, "$(touch ran)": [1]}},
        {"version": RUN, "name": RUN},
    ],
)
def test_the_command_runs_nothing_but_itself(tmp_path: Path, more: dict[str, Any]) -> None:
    arguments = arguments_of(command_of(tmp_path, **more), tmp_path)
    assert not (tmp_path / "ran").exists()
    assert arguments[:3] == ["batch", "MODEL", "INPUTS"]
    assert all(text.isprintable() for text in arguments)


@pytest.mark.parametrize("field", ["task", "network", "key"])
def test_what_is_no_task_network_or_key_is_refused(tmp_path: Path, field: str) -> None:
    hostile = (RUN, "explain;touch ran;#", "../secret", "\0", "javascript:alert(1)" + HOSTILE)
    for number, told in enumerate(hostile):
        journal = written(tmp_path / f"{number}.jsonl", recorded(0, None, **{field: told}))
        with pytest.raises(InputError, match=f"line 1: {field} is "):
            write_report(journal)


def test_the_command_has_values_that_are_whole_arguments(tmp_path: Path) -> None:
    settings = {"solver": "highs; rm -r x", "domain": [-0.5, "$(id)"], "order": "a b"}
    command = command_of(tmp_path, epsilon="$(id)", settings=settings)
    arguments = arguments_of(command, tmp_path)
    assert arguments == [text for text in shlex.split(command)[1:] if text != "\n"]
    for pair in (
        ["--epsilon", "$(id)"],
        ["--solver", "highs; rm -r x"],
        ["--domain", "-0.5", "$(id)"],
        ["--order", "a b"],
    ):
        place = arguments.index(pair[0])
        assert arguments[place : place + len(pair)] == pair


def test_the_command_has_no_options_that_write_files(tmp_path: Path) -> None:
    settings = {"journal": "/etc/passwd", "results": "/etc", "json": "x", "order": "influence"}
    arguments = arguments_of(command_of(tmp_path, settings=settings), tmp_path)
    assert arguments.count("--journal") == 1
    assert not {"/etc/passwd", "/etc", "x", "--results", "--json"} & set(arguments)


def test_names_of_files_are_no_options(tmp_path: Path) -> None:
    arguments = arguments_of(command_of(tmp_path, file="--help.jsonl"), tmp_path)
    assert arguments[arguments.index("--journal") + 1] == "./--help.jsonl"


def outside(folder: Path, told: str) -> Path:
    """Return a journal in a folder of its own that names a result as ``told``."""
    (folder / "study").mkdir()
    stored = folder / "secret.json.gz"
    journal = study(folder, image(1))
    next((folder / "study.results").glob("*/*.gz")).rename(stored)
    (folder / "study" / "link").symlink_to(folder)
    (folder / "study" / "file.json.gz").symlink_to(stored)
    one = json.loads(journal.read_text(encoding="utf-8"))
    one["result"] = told.format(folder=folder)
    return written(folder / "study" / "study.jsonl", one)


@pytest.mark.parametrize(
    "told",
    [
        "{folder}/secret.json.gz",
        "../secret.json.gz",
        "link/secret.json.gz",
        "file.json.gz",
        "a/../../secret.json.gz",
        "\0",
        "x" * 5000,
    ],
)
def test_a_result_outside_the_folder_is_not_read(tmp_path: Path, told: str) -> None:
    journal = outside(tmp_path, told)
    page = page_of(journal)
    assert not page.all("article")
    assert "--results FOLDER" in page.words
    row = read_study(journal).iloc[0].to_dict()
    with pytest.raises(InputError, match=r"outside its folder.*results=FOLDER|must be the path"):
        read_result(journal, row)


@pytest.mark.parametrize("key", ["../secret", "/{folder}/secret", "ab/../../../secret", "\0"])
def test_a_key_leads_to_no_file_outside_the_results(tmp_path: Path, key: str) -> None:
    journal = outside(tmp_path, "x")
    one = json.loads(journal.read_text(encoding="utf-8"))
    one["key"] = key.format(folder=str(tmp_path)[1:])
    with pytest.raises(InputError, match=r"outside its folder|cannot read"):
        read_result(journal, one, results=tmp_path / "study")


@pytest.mark.parametrize("field", ["epsilon", "name", "version", "reason", "notes"])
def test_texts_of_a_record_stay_text(tmp_path: Path, field: str) -> None:
    journal = study(tmp_path, table(1), None)
    one, other = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    for record in (one, other):
        record[field] = [HOSTILE] if field == "notes" else HOSTILE
        record["settings"] = {HOSTILE: HOSTILE, "order": [HOSTILE], "norm": {HOSTILE: HOSTILE}}
    page = page_of(written(journal, one, other))
    assert HOSTILE in page.words
    for found in page.every():
        assert not any(name.startswith("on") for name in found.attributes)
