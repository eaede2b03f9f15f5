import json
import math
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from milp_verix import InputError, read_study, write_report
from milp_verix.study.journal import Journal, best_records
from tests.support.command_line import ENVIRONMENT
from tests.support.studies import lines, record, written


def read(path: Path) -> tuple[list[int], list[str]]:
    """Return the indices in a journal, and what was told of lines that are no records."""
    told: list[str] = []
    return [one["index"] for one in best_records(path, told.append)], told


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    given = [record(0, reason="späte ε\nline", size=3), record(1, "failed", prediction=[0.1, 2.0])]
    path = written(tmp_path / "study.jsonl", *given)
    assert list(best_records(path)) == given == lines(path)
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("many", [0, 1, 3])
def test_a_journal_torn_at_any_byte_of_its_last_record_loses_that_alone(
    tmp_path: Path, many: int
) -> None:
    last = record(many, reason="ε torn")
    whole = written(tmp_path / "whole.jsonl", *map(record, range(many)), last).read_bytes()
    start = len(whole[: whole[:-1].rfind(b"\n") + 1])
    path = tmp_path / "study.jsonl"
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        found, told = read(path)
        assert found == list(range(many))
        assert len(told) == (end > start)
        with Journal(path, warn=told.append) as journal:
            assert len(journal.statuses) == many
            journal.append(last)
        assert path.read_bytes() == whole
    assert "torn" in told[0]
    assert f"line {many + 1} " in told[0]


def test_a_torn_line_longer_than_what_is_read_at_once_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "study.jsonl", record(0))
    with path.open("ab") as file:
        file.write(b"x" * 200_000)
    told: list[str] = []
    with Journal(path, warn=told.append) as journal:
        journal.append(record(1))
    assert read(path) == ([0, 1], [])
    assert len(told) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"\0" * 50,
        b"[1, 2]",
        b"[" * 100_000,
        b"\xff\xfe",
        b"",
    ],
)
def test_a_line_that_is_no_record_is_told_and_left_out(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path / "study.jsonl", record(0))
    path.write_bytes(path.read_bytes() + line + b"\n")
    written_later = written_with_warnings(path)
    found, told = read(written_later)
    assert found == [0, 1]
    assert len(told) == 1
    assert "line 2 is no record" in told[0]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"key": "a"}, 'key is "a", expected a text like ^[0-9a-f]{64}$'),
        ({"status": "doing"}, 'status is "doing", expected "done" or "undecided" or "failed"'),
        ({"index": 2**63}, "index is 9223372036854775808, expected a whole number"),
        ({"epsilon": 10**400}, "epsilon is 1000"),
        ({"seconds": 10**400}, "seconds is 1000"),
        ({"size": -(10**400)}, "size is -1000"),
        ({"notes": True}, "notes is true, expected a list"),
        ({"prediction": {}}, "prediction is an object, expected a whole number or a list or null"),
        ({"prediction": [None]}, "prediction[0] is null, expected a finite number"),
        ({"network": "\ud800"}, "half of a surrogate pair"),
        ({"unknown": [3, 3]}, "unknown is [3, 3], expected each entry once"),
        ({"settings": {"epsilon": math.nan}}, "NaN is no number in JSON"),
    ],
)
def test_a_record_with_a_wrong_field_is_refused_by_file_line_and_field(
    tmp_path: Path, more: dict[str, object], told: str
) -> None:
    path = written(tmp_path / "study.jsonl", record(0))
    path.write_text(path.read_text() + json.dumps(record(1) | more) + "\n")
    for read_by in (list, read_study, write_report, Journal):
        with pytest.raises(InputError) as refused:
            read_by(best_records(path) if read_by is list else path)  # type: ignore[operator]
        assert f"{path}: line 2: " in str(refused.value)
        assert told in str(refused.value)


def test_a_record_without_a_field_and_with_one_twice_is_refused(tmp_path: Path) -> None:
    lacking = {name: value for name, value in record(0).items() if name != "network"}
    text = json.dumps(record(0))
    for line, told in (
        (json.dumps(lacking), "it lacks 'network'"),
        (text[:-1] + ', "size": 1e999}', "the number 1e999 is too large"),
        (text[:-1] + ', "status": "done"}', "an object in it has 'status' twice"),
    ):
        (tmp_path / "study.jsonl").write_text(line + "\n")
        with pytest.raises(InputError, match=rf"study\.jsonl: line 1: {told}"):
            read(tmp_path / "study.jsonl")


def test_a_reader_is_told_of_records_written_twice_and_of_other_versions(tmp_path: Path) -> None:
    path = written(tmp_path / "study.jsonl", record(0, "undecided"), record(0), record(1))
    assert read(path) == ([0, 1], [])  # a task done again is no surprise
    written(path, record(0, size=7), record(2, version="0.0.9"))
    told: list[str] = []
    assert [one.get("size") for one in best_records(path, told.append)] == [None, 7, None]
    assert len(told) == 2
    assert "1 record with the key, the input and the status of an earlier one" in told[0]
    assert "2 of 0.1.0, 1 of 0.0.9" in told[1]
    for read_by in (read_study, write_report):
        again: list[str] = []
        read_by(path, warn=again.append)  # type: ignore[operator]
        assert again == told
    assert "2 of 0.1.0, 1 of 0.0.9" in write_report(path, warn=lambda _: None)
    again = []
    with Journal(path, warn=again.append):
        assert again == told


def written_with_warnings(path: Path) -> Path:
    with Journal(path, warn=lambda _: None) as journal:
        journal.append(record(1))
    return path


def test_the_best_record_of_a_task_counts_then_the_last(tmp_path: Path) -> None:
    statuses = ["failed", "undecided", "done", "undecided", "done", "failed"]
    given = [record(0, status, size=i) for i, status in enumerate(statuses)]
    path = written(tmp_path / "study.jsonl", *given)
    assert [one["size"] for one in best_records(path, lambda _: None)] == [4]
    with Journal(path, warn=lambda _: None) as journal:
        assert [*journal.statuses.values()] == ["done"]


def test_equal_inputs_at_two_places_are_two_tasks(tmp_path: Path) -> None:
    same = [{**record(0), "index": index} for index in (0, 1)]
    assert len(list(best_records(written(tmp_path / "study.jsonl", *same)))) == 2


WRITER = """
import sys
from pathlib import Path
from milp_verix.study.journal import Journal
from tests.support.studies import record
with Journal(Path(sys.argv[1])) as journal:
    print("open", flush=True)
    sys.stdin.readline()
    for i in range(200):
        index = int(sys.argv[2]) + i
        long = "x" * (37 * i % 5000)
        journal.append(record(index, reason=long))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["study.jsonl", "folder"])
def test_two_processes_write_to_one_journal_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(first)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        for first in (0, 200)
    ]
    for writer in writers:  # both are there before one begins
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert [writer.wait() for writer in writers] == [0, 0]
    found, told = read(path)
    assert sorted(found) == list(range(400))
    assert told == []
    assert len(list(path.glob("*.jsonl")) if path.is_dir() else [path]) == (1 + path.is_dir())


def test_threads_share_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"

    def write(first: int) -> None:
        written(path, *map(record, range(first, first + 20)))

    threads = [threading.Thread(target=write, args=(20 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read(path)[0]) == list(range(80))


FULL = """
import resource, sys
from pathlib import Path
from milp_verix import InputError
from milp_verix.study.journal import Journal
from tests.support.studies import record
path = Path(sys.argv[1])
with Journal(path) as journal:
    journal.append(record(0))
    most = path.stat().st_size + int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        journal.append(record(1, reason="longer than there is room for"))
    except InputError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1, 40])
def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path, room: int) -> None:
    # the limit lets the system write a part, as a disk does that gets full
    path = tmp_path / "study.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(room)],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert "cannot write to" in done.stdout
    assert "records before are safe" in done.stdout
    assert path.read_bytes() == json.dumps(record(0)).encode() + b"\n"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != room


def test_an_interrupted_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "study.jsonl", record(0))
    before = path.read_bytes()
    write = os.write

    def interrupted(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise KeyboardInterrupt
        return write(file, data[:-5])

    with Journal(path) as journal:
        monkeypatch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append(record(1))
        monkeypatch.undo()
        assert path.read_bytes() == before
        journal.append(record(1))
    assert read(path) == ([0, 1], [])


def test_fsync_is_asked_for_by_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    written(tmp_path / "study.jsonl", record(0))
    assert not calls
    with Journal(tmp_path / "study.jsonl", fsync=True) as journal:
        journal.append(record(1))
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["none/study.jsonl", "none/folder"])
def test_a_journal_that_cannot_be_made_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot write the journal"):
        Journal(tmp_path / name)


def test_a_journal_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        Journal(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="cannot read"):
        list(best_records(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("content", [b"PK\x03\x04 images", b"a = 1\n", b'{"schema": 2}', b"\0" * 9])
def test_another_file_is_no_journal_and_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is no journal"):
        Journal(path, warn=lambda _: None)
    assert path.read_bytes() == content
