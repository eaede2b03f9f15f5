"""``milp-verix audit`` on the command line: every exit code, every kind of file."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import milp_verix
from milp_verix import Audit
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer, Verdict
from tests.support.command_line import SEVEN, run_here
from tests.support.digits_example import EPSILON, MODEL, explained, images, network
from tests.support.random_networks import as_layers, dense_network
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network


def audit(file: Path, *more: object, given: object = SEVEN) -> subprocess.CompletedProcess[str]:
    return run_here("audit", MODEL, given, "--explanation", file, "--epsilon", EPSILON, *more)


def indices(folder: Path, *features: int) -> Path:
    path = folder / "set.json"
    path.write_text(json.dumps(features))
    return path


def test_a_sound_set_ends_with_0(tmp_path: Path) -> None:
    out, picture = tmp_path / "audit.json", tmp_path / "audit.png"
    own = [*explained().explanation, *explained().irrelevant[:2]]
    done = audit(indices(tmp_path, *own), "--json", out, "--plot", picture)
    assert (done.returncode, done.stderr) == (0, "")
    assert "yes, proven" in done.stdout
    assert "too large by" in done.stdout
    found = Audit.from_json(out)
    assert (found.sound, found.minimal) == (True, False)
    assert found.replay(network()) == ()
    with Image.open(picture) as image:
        assert min(image.size) > 300


def test_a_set_that_is_not_sound_ends_with_1(tmp_path: Path) -> None:
    done = audit(indices(tmp_path, *explained().explanation[3:]))
    assert (done.returncode, done.stderr) == (1, "")
    assert "no: a counterexample" in done.stdout
    assert "completion" in done.stdout


def test_an_undecided_set_ends_with_3(tmp_path: Path) -> None:
    model, x = hard_network(tmp_path).path, tmp_path / "x.npy"
    np.save(x, HARD_X)
    out = tmp_path / "audit.json"
    options = [part for name, value in HARD_OPTIONS.items() for part in (f"--{name}", value)]
    done = run_here(
        *("audit", model, x, "--explanation", indices(tmp_path), *options),
        *("--time-limit", 0.5, "--sound-only", "--json", out),
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert "not known" in done.stdout
    assert Audit.from_json(out).sound is None


def test_ctrl_c_ends_with_130_and_keeps_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = Oracle.check, []

    def check(self: Oracle, *given: object) -> Verdict:
        asked.append(given)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return real(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Oracle, "check", check)
    out = tmp_path / "audit.json"
    done = audit(indices(tmp_path, *range(50)), "--traversal", "sequential", "--json", out)
    assert done.returncode == 130
    assert Audit.from_json(out).statistics.stopped == "interrupted"
    assert Audit.from_json(out).answer in (Answer.HOLDS, Answer.VIOLATED)


def test_every_kind_of_file(tmp_path: Path) -> None:
    own = explained().explanation
    mask = np.zeros((8, 8), dtype=bool)
    mask.reshape(-1)[list(own)] = True
    np.save(tmp_path / "mask.npy", mask)
    np.save(tmp_path / "numbers.npy", mask.astype(np.uint8))
    np.save(tmp_path / "indices.npy", np.array(own))
    (tmp_path / "mask.json").write_text(json.dumps(mask.tolist()))
    (tmp_path / "numbers.json").write_text(json.dumps(mask.astype(int).tolist()))
    explained().to_json(tmp_path / "explanation.json")
    for name in ("mask.npy", "numbers.npy", "indices.npy", "mask.json", "numbers.json"):
        out = tmp_path / "out.json"
        done = audit(tmp_path / name, "--sound-only", "--quiet", "--json", out)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), name
        assert Audit.from_json(out).explanation == own
    done = audit(tmp_path / "explanation.json", "--json", out)
    assert done.returncode == 0
    assert Audit.from_json(out).minimal


def test_an_explanation_of_groups_brings_its_groups(tmp_path: Path) -> None:
    groups = tuple(tuple(range(8 * row, 8 * row + 8)) for row in range(8))
    explained(features=groups).to_json(tmp_path / "rows.json")
    out = tmp_path / "out.json"
    assert audit(tmp_path / "rows.json", "--json", out).returncode == 0
    found = Audit.from_json(out)
    assert (found.groups, found.minimal) == (groups, True)
    done = audit(tmp_path / "rows.json", "--features", "pixels")
    assert done.returncode == 2
    assert "about 8 features, the audit about 64" in done.stderr


def test_the_minimum_is_told(tmp_path: Path) -> None:
    done = audit(
        indices(tmp_path, *range(62)), "--minimum", "--features", "pixels", given=second(tmp_path)
    )
    assert done.returncode in (0, 1)
    assert "smallest sound set" in done.stdout


def second(folder: Path) -> Path:
    np.save(folder / "second.npy", images()[0])
    return folder / "second.npy"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1, 2", "cannot read"),
        ('"pixels"', "expected a list of feature indices"),
        ("[64]", "out of range"),
        ('{"schema": 3}', "is not an explanation"),
        ('{"schema": 7}', "has schema 7"),
    ],
)
def test_files_that_are_no_set(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text(content)
    done = audit(file)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_file_that_is_not_there_or_of_another_kind(tmp_path: Path) -> None:
    done = audit(tmp_path / "none.json")
    assert done.returncode == 2
    assert "--explanation: cannot read" in done.stderr
    done = audit(tmp_path / "set.txt")
    assert done.returncode == 2
    assert "--explanation is a .npy or .json file" in done.stderr


def test_the_options_reach_the_audit(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    set_ = indices(tmp_path, *explained().explanation[2:])
    done = audit(set_, "--order", "random", "--seed", 5, "--solver", "highs", "--json", out)
    assert done.returncode == 1
    expected = milp_verix.audit(
        network(),
        images()[15],
        explained().explanation[2:],
        epsilon=EPSILON,
        order="random",
        seed=5,
        solver="highs",
    )
    assert Audit.from_json(out).sound_set == expected.sound_set
    assert Audit.from_json(out).solver == "highs"


def test_described_inputs(tmp_path: Path) -> None:
    layers = as_layers(([[0.0] * 2, [0.1, -3.0]], [0.0, -3.05]))
    model, described = dense_network(layers, tmp_path).path, tmp_path / "inputs.json"
    inputs = milp_verix.Inputs([milp_verix.integer("age", 18, 75), milp_verix.binary("arrears")])
    described.write_text(json.dumps(inputs.to_data()))
    person = tmp_path / "person.json"
    person.write_text(json.dumps({"age": 40, "arrears": "no"}))
    for features, code in (([0, 1], 0), ([1], 0), ([0], 1)):
        done = run_here(
            *("audit", model, person, "--explanation", indices(tmp_path, *features)),
            *("--epsilon", 5, "--inputs", described),
        )
        assert (done.returncode, done.stderr) == (code, "")
    assert "age" in done.stdout


def test_the_file_that_is_audited_is_not_written_over(tmp_path: Path) -> None:
    file = indices(tmp_path, 26, 27)
    done = audit(file, "--json", file)
    assert done.returncode == 2
    assert "is another file of this command" in done.stderr
    assert json.loads(file.read_text()) == [26, 27]
