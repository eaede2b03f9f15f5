"""``--seeds`` makes a run of some tests, and says what it left out and why."""

from pathlib import Path

import pytest

from tests.support.pytest_runs import run_pytest

TESTS = """
import pytest

@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(30))
def test_each(seed, norm): print(f"<each {norm} {seed}>")

@pytest.mark.parametrize(("norm", "seed"), [("l1", 7), ("l2", 8), ("l1", 9)])
def test_pairs(norm, seed): print(f"<pairs {norm} {seed}>")

def test_drawn(own_seed): print(f"<drawn {own_seed}>")

@pytest.mark.slow
@pytest.mark.parametrize("case", [{}, []])
def test_slow(case): print(f"<slow {case}>")

@pytest.mark.slow
def test_slowly_drawn(its_seed): print(f"<slowly {its_seed}>")

@pytest.mark.nightly
def test_nightly(): print("<nightly>")
"""
PAIRS = {"pairs l1 7", "pairs l2 8"}


def of(seeds: int) -> set[str]:
    drawn, few = {f"drawn {seed}" for seed in range(seeds)}, min(seeds, 30)
    return drawn | {f"each {norm} {seed}" for norm in ("l1", "l2") for seed in range(few)}


def slow(seeds: int) -> set[str]:
    return {"slow {}", "slow []", *(f"slowly {seed}" for seed in range(seeds))}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("options", "made", "told"),
    [
        (
            [],
            of(2) | PAIRS | {"pairs l1 9"},
            "left out by --seeds 2: 56 more seeds, 1 nightly, 4 slow; --seeds 4 runs more",
        ),
        (
            ["--seeds", "1", "-n", "2"],
            of(1) | PAIRS,
            "left out by --seeds 1: 59 more seeds, 1 nightly, 3 slow; --seeds 4 runs more",
        ),
        (
            ["--seeds", "20"],
            of(20) | PAIRS | {"pairs l1 9"} | slow(20),
            "left out by --seeds 20: 20 more seeds, 1 nightly; --seeds 200 runs more",
        ),
        (["--seeds", "200"], of(200) | PAIRS | {"pairs l1 9"} | slow(200) | {"nightly"}, None),
        (
            ["--seeds", "20", "--after", "2"],
            of(20) - of(2) | slow(20),
            "left out by --seeds 20: 20 more seeds, 1 nightly, 9 run by --seeds 2; "
            "--seeds 200 runs more",
        ),
        (["-m", "slow"], slow(2), None),
        (
            ["-m", "not slow"],
            of(2) | PAIRS | {"pairs l1 9"},
            "left out by --seeds 2: 56 more seeds, 1 nightly; --seeds 4 runs more",
        ),
    ],
)
def test_a_run_has_the_first_seeds_of_each_case(
    options: list[str], made: set[str], told: str | None, tmp_path: Path
) -> None:
    (tmp_path / "test_seeds.py").write_text(TESTS, encoding="utf-8")
    marks = "[pytest]\nmarkers =\n    slow\n    nightly\n"
    (tmp_path / "pytest.ini").write_text(marks, encoding="utf-8")
    done = run_pytest(tmp_path, "-rP", *options)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line[1:-1] for line in lines if line.startswith("<")} == made
    assert [line for line in lines if line.startswith("left out")] == ([told] if told else [])
