"""The command line as a user meets it: in a process of its own where that may matter."""

import json
import re
import signal
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

from milp_verix import Explanation, InputError
from milp_verix.cli.call_options import number_of
from milp_verix.cli.delivery import check_folder
from tests.support.command_line import ENVIRONMENT, SEVEN, command, run, run_here
from tests.support.digits_example import MODEL, explained, images, network
from tests.support.onnx_models import saved
from tests.support.random_networks import as_layers, dense_model
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network


@pytest.mark.slow
def test_an_explanation_leaves_a_result_and_a_picture(tmp_path: Path) -> None:
    out, picture = tmp_path / "out.json", tmp_path / "out.png"
    done = run("explain", MODEL, SEVEN, "--epsilon", 0.1, "--json", out, "--plot", picture)
    assert (done.returncode, done.stderr) == (0, "")
    found = Explanation.from_json(out)
    assert found.explanation == explained().explanation
    assert found.replay(network()) == ()
    with Image.open(picture) as image:
        assert min(image.size) > 500
    assert re.search(r"explanation +28 of 64 features", done.stdout)
    row, column = divmod(found.explanation[0], 8)
    assert f"(row,column) from 0: ({row},{column}), " in done.stdout
    assert "… and 16 more" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout


@pytest.mark.slow
def test_features_are_called_by_their_names(tmp_path: Path) -> None:
    rows = [list(range(8 * row, 8 * row + 8)) for row in range(8)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    names = [f"row-{row}" for row in range(8)]
    (tmp_path / "names.json").write_text(json.dumps(names))
    np.savez(tmp_path / "data.npz", names=np.array(names))
    for command_ in ("explain", "minimum", "contrastive", "enumerate"):
        for given in (tmp_path / "names.json", f"{tmp_path / 'data.npz'}:names"):
            done = run_here(
                *(command_, MODEL, SEVEN, "--epsilon", 0.1, "--features", tmp_path / "rows.json"),
                *("--feature-names", given),
            )
            assert (done.returncode, done.stderr) == (0, "")
            assert re.search(r"  row-[0-7]\b", done.stdout)


@pytest.mark.slow
def test_a_console_without_greek_letters() -> None:
    done = run("explain", MODEL, SEVEN, "--epsilon", 0.1, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"ball +\? = 0.1", done.stdout)


def test_options_reach_the_explanation(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    np.save(tmp_path / "order.npy", np.arange(64)[::-1])
    groups = [list(range(8 * row, 8 * row + 8)) for row in range(8)]
    (tmp_path / "rows.json").write_text(json.dumps(groups))
    for options, expected in [
        (["--order", "random", "--seed", 3], explained(order="random", seed=3)),
        (["--transformation", "deletion"], explained(transformation="deletion")),
        (["--order", tmp_path / "order.npy"], explained(order=tuple(range(63, -1, -1)))),
        (["--bounds", "lp", "--segments", 3], explained()),
        (["--features", tmp_path / "rows.json", "--solver", "cbc"], None),
    ]:
        done = run_here(
            "explain", MODEL, SEVEN, "--epsilon", 0.1, "--json", out, "--quiet", *options
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        found = Explanation.from_json(out)
        if expected is None:
            assert [list(group) for group in found.groups] == groups
            assert found.solver == "cbc"
        else:
            assert found.explanation == expected.explanation
            assert found.permutation == expected.permutation
            assert found.bounds == ("lp" if "--bounds" in options else "crown")


def test_bytes_are_scaled_and_it_is_said(tmp_path: Path) -> None:
    pixels = np.round(images()[15, 0] * 255).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "seven.png")
    out = tmp_path / "out.json"
    done = run_here("explain", MODEL, tmp_path / "seven.png", "--epsilon", 0.1, "--json", out)
    assert done.returncode == 0
    assert "scaled from 0..255 to [0, 1]" in done.stdout
    found = Explanation.from_json(out)
    np.testing.assert_array_equal(found.input[0, 0], pixels / np.float32(255))
    assert any("scaled" in note for note in found.notes)


def test_a_jpeg_is_decoded_and_it_is_said(tmp_path: Path) -> None:
    picture, out = tmp_path / "seven.jpg", tmp_path / "out.json"
    Image.fromarray(np.round(images()[15, 0] * 255).astype(np.uint8)).save(picture, quality=95)
    done = run_here("explain", MODEL, picture, "--epsilon", "8/255", "--json", out)
    assert (done.returncode, done.stderr) == (0, "")
    found = Explanation.from_json(out)
    with Image.open(picture) as decoded:
        np.testing.assert_array_equal(found.input[0, 0], np.asarray(decoded) / np.float32(255))
    assert any("decoded from seven.jpg" in note and "lossy" in note for note in found.notes)
    assert found.epsilon == 8 / 255


def test_numbers_may_be_fractions(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    ends = ["--domain", "-1/3", "4/3"]
    done = run_here(
        "minimum", MODEL, SEVEN, "--epsilon", "1/10", *ends, "--gap", "3/4", "--json", out
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = Explanation.from_json(out)
    assert (found.epsilon, found.domain) == (0.1, (-1 / 3, 4 / 3))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8/255", 8 / 255),
        (" 1 / 3 ", 1 / 3),
        ("-.5/2", -0.25),
        ("0.1/7", float(Fraction(1, 70))),  # 0.1 / 7 is another number: it is rounded twice
        ("1e-3", 0.001),
        ("-inf", -np.inf),
        (0.25, 0.25),
        (f"{10**400}/{10**399}", 10.0),
    ],
)
def test_a_fraction_is_rounded_once(text: str | float, number: float) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize(
    "text", ["", "/", "8/", "8/-255", "1/2/3", "1e999999999/3", f"{10**400}/1", "0x1", "½", "1,5"]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="no number"):
        number_of(text)


def test_a_regression_with_an_open_domain(tmp_path: Path) -> None:
    layers = as_layers(([[1, -1], [1, 1]], [0, 0]), ([[1, 1]], [0]))
    model = saved(dense_model(layers), tmp_path)
    np.save(tmp_path / "x.npy", np.array([-3.0, 2.0]))
    out, picture = tmp_path / "out.json", tmp_path / "out.svg"
    done = run_here(
        *("explain", model, tmp_path / "x.npy", "--epsilon", 0.5, "--delta", 0.1),
        *("--domain", "-inf", "inf", "--transformation", "deletion"),
        *("--json", out, "--plot", picture),
    )
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(out.read_text())
    assert (data["delta"], data["domain"]) == (0.1, [None, None])
    assert picture.read_text().startswith("<?xml")


def test_a_time_limit_leaves_a_sound_part_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    limit = ["--time-limit", 0.001]
    done = run_here("explain", MODEL, SEVEN, "--epsilon", 0.1, "--json", out, *limit)
    assert done.returncode == 3
    found = Explanation.from_json(out)
    assert found.statistics.stopped == "time limit"
    assert len(found.unknown) > 50
    assert "time limit" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "ignored"),
    # a job in the background of a shell has Ctrl-C ignored: it is cancelled by SIGTERM
    [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True)],
)
def test_an_interrupt_leaves_a_sound_part(
    sent: signal.Signals, ignored: bool, tmp_path: Path
) -> None:
    model = hard_network(tmp_path).path
    np.save(tmp_path / "x.npy", HARD_X)
    out = tmp_path / "out.json"
    deaf = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if ignored else []
    process = subprocess.Popen(
        deaf
        + command(
            *("explain", model, tmp_path / "x.npy", "--order", "sequential", "--json", out),
            *("--epsilon", HARD_OPTIONS["epsilon"], "--delta", HARD_OPTIONS["delta"]),
        ),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    # the start is saved, then the first check; the next ones are hard
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if out.exists() and Explanation.from_json(out).statistics.checks:
            break
    saved_so_far = Explanation.from_json(out)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    found = Explanation.from_json(out)
    assert found.statistics.stopped == "interrupted"
    assert found.statistics.checks >= saved_so_far.statistics.checks > 0
    assert set(found.unknown) <= set(found.explanation)
    assert found.unknown
    assert list(tmp_path.glob(".out*")) == []


def refused(tmp_path: Path) -> list[tuple[list[object], str]]:
    good = ["explain", MODEL, SEVEN]
    (tmp_path / "cut.onnx").write_bytes(MODEL.read_bytes()[:2000])
    (tmp_path / "text.onnx").write_text("no network")
    np.save(tmp_path / "nan.npy", np.full((8, 8), np.nan))
    np.save(tmp_path / "inf.npy", np.full((8, 8), np.inf))
    np.save(tmp_path / "far.npy", np.full((8, 8), 1.5))
    np.save(tmp_path / "small.npy", np.zeros(5))
    np.save(tmp_path / "text.npy", np.full((8, 8), "a"))
    at = ["--epsilon", 0.1]

    def x(name: str) -> list[object]:
        return ["explain", MODEL, tmp_path / name, *at]

    def model(name: str) -> list[object]:
        return ["explain", tmp_path / name, SEVEN, *at]

    return [
        (x("nan.npy"), "nan at coordinate 0"),
        (x("inf.npy"), "inf at coordinate 0"),
        (x("far.npy"), r"1.5 at coordinate 0, outside its domain \[0, 1\]"),
        (x("small.npy"), r"shape \(5,\), expected \(1, 1, 8, 8\)"),
        (x("text.npy"), "numbers"),
        (x("absent.npy"), "absent.npy: No such file"),
        (model("cut.onnx"), "truncated or not an ONNX"),
        (model("text.onnx"), "not an ONNX"),
        (model("absent.onnx"), "absent.onnx: No such file"),
        ([*good, "--epsilon", -0.1], "not negative, got -0.1"),
        ([*good, "--epsilon", "nan"], "finite"),
        ([*good, "--epsilon", "8/0"], "'--epsilon': '8/0' divides by zero"),
        ([*good, "--epsilon", "abc"], "'--epsilon': 'abc' is no number.*8/255"),
        ([*good, *at, "--delta", "1//3"], "'--delta': '1//3' is no number"),
        ([*good, *at, "--domain", "1/3", "x"], "'--domain': 'x' is no number"),
        (good, "--epsilon"),
        ([*good, *at, "--norm", "l7"], "'l7'"),
        ([*good, *at, "--delta", -1], "-1"),
        ([*good, *at, "--label", 12], "label 12 is out of range"),
        ([*good, *at, "--label", 3], "class 7, not class 3"),
        ([*good, *at, "--output", 1], "delta"),
        ([*good, *at, "--domain", 1, 0], "lower <= upper"),
        ([*good, *at, "--order", "backwards"], "'backwards'"),
        ([*good, *at, "--order", tmp_path / "far.npy"], "each of the 64 features"),
        ([*good, *at, "--transformation", "mirror"], "'mirror'"),
        ([*good, *at, "--order", "random", "--transformation", "mirror"], "'mirror'"),
        ([*good, *at, "--features", "blobs"], "'blobs'"),
        ([*good, *at, "--feature-names", tmp_path / "small.npy"], "64 texts"),
        ([*good, *at, "--feature-names", tmp_path / "absent.json"], "cannot read"),
        ([*good, *at, "--solver", "baron"], "'baron'.*highs"),
        ([*good, *at, "--time-limit", 0], "positive"),
        ([*good, *at, "--check-time-limit", -2], "positive"),
        ([*good, *at, "--json", tmp_path / "no" / "out.json"], "cannot write"),
        ([*good, *at, "--plot", tmp_path / "out.xyz"], "'.xyz'"),
        ([*good, *at, "--image-shape", "8by8"], "commas between, such as 28,28; got '8by8'"),
        ([*good, *at, "--image-shape", "4,16"], "an image already"),
        ([*good, *at, "--plot", tmp_path / "o.png", "--image-shape", "9,9"], "9"),
        ([*good, *at, "--plot", tmp_path / "o.png", "--image-shape", "1,64"], "no image"),
    ]


@pytest.mark.slow
def test_bad_input_is_one_clear_line_and_exit_code_2(tmp_path: Path) -> None:
    for number, (arguments, message) in enumerate(refused(tmp_path)):
        done = (run_here if number % 10 else run)(*arguments)
        told = done.stderr.strip()
        assert done.returncode == 2, (arguments, told)
        assert re.search(message, told), (arguments, told)
        assert done.stdout == ""
        assert "Traceback" not in told
        if not told.startswith("Usage"):
            assert told.startswith("error: ")
            assert len(told.splitlines()) == 1


@pytest.mark.slow
def test_help_and_version() -> None:
    told = run("explain", "--help")
    assert told.returncode == 0
    for option in ("--epsilon", "--norm", "--delta", "--domain", "--order", "--transformation"):
        assert option in told.stdout
    assert "Exit codes" in told.stdout
    assert run("--version").stdout.startswith("milp-verix")


def test_an_output_that_is_read_only_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # permissions do not stop root, whom tests may run as
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != tmp_path)
    with pytest.raises(InputError, match="permission denied"):
        check_folder(tmp_path / "out.json")
    (tmp_path / "folder").mkdir()
    check_folder(tmp_path / "folder" / "out.json")
