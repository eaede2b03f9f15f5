"""Files that claim to be enormous, memory and disks that end, outputs that nobody reads."""

import json
import os
import resource
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from milp_verix import Explanation, InputError, Inputs, continuous, encode_check, load_network
from milp_verix.base.errors import ModelError
from milp_verix.base.files import replacing, write_atomically
from milp_verix.base.stored_numbers import array_in, json_in
from milp_verix.cli import solving
from milp_verix.cli.call_options import numbers_in
from milp_verix.comparison.compare import checks_of, read_checks, write_checks
from milp_verix.inputs.input_files import read_input, read_texts
from milp_verix.views.plot import write_figure
from tests.support.command_line import ENVIRONMENT, SEVEN, command, run, run_here
from tests.support.digits_example import MODEL, explained, network

AT = ["--epsilon", 0.1]
EXPLAIN = ["explain", MODEL, SEVEN, *AT]


def header(shape: tuple[int, ...], dtype: str = "<f8", *, fortran: bool = False) -> bytes:
    """Return the beginning of a .npy file."""
    text = repr({"descr": dtype, "fortran_order": fortran, "shape": shape}).encode().ljust(117)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n"


def png(width: int, height: int) -> bytes:
    """Return a PNG that claims so many pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    facts = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", facts) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def bomb(path: Path, count: int) -> None:
    """Write an archive with an array of ``count`` numbers, all zero."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("images.npy", "w", force_zip64=True) as member,
    ):
        member.write(header((count // 64, 8, 8)))
        for _ in range(count // 2**20):
            member.write(bytes(8 * 2**20))


def limited(
    limits: dict[int, int], *arguments: object, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run the command line within limits of its resources."""
    code = (
        "import os, resource, sys\n"
        f"for name, most in {limits}.items(): resource.setrlimit(name, (most, most))\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'milp_verix', *sys.argv[1:]])"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        # each thread of a library of linear algebra reserves memory of its own
        env={**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def assert_one_line(done: subprocess.CompletedProcess[str], told: str) -> None:
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stderr.startswith("error: "), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert told in done.stderr


def test_an_array_that_claims_to_be_enormous_is_refused_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(header((10**6, 10**6)))
    with pytest.raises(InputError, match=r"shape \(1000000, 1000000\), more than the 64"):
        array_in(path, most=64)
    with pytest.raises(InputError, match=r"shape \(1000000,\), more than the 64"):
        array_in(path, index=(3,), most=64)
    with pytest.raises(InputError, match="cut off"):
        array_in(path, index=(999_999, -1), most=64)
    path.write_bytes(header((8, 8), "<U100000000"))
    with pytest.raises(InputError, match="no array of numbers"):
        array_in(path, most=64)
    with pytest.raises(InputError, match="no array of texts"):
        read_texts(str(path), 64)
    path.write_bytes(header((10**12,), "<U8"))
    with pytest.raises(InputError, match="more than the 64 that fit"):
        read_texts(str(path), 64)
    path.write_bytes(header((-1, 8)))
    with pytest.raises(InputError, match="no array of numbers"):
        array_in(path, most=64)
    path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(100))
    with pytest.raises(InputError, match="no array of numbers"):
        array_in(path, most=64)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("fortran", [False, True])
def test_an_entry_is_the_one_that_numpy_has(packed: bool, fortran: bool, tmp_path: Path) -> None:
    stored = np.random.default_rng(0).normal(size=(5, 4, 3, 2)).astype(">f4")
    stored = np.asarray(stored, order="F" if fortran else "C")
    path = tmp_path / ("x.npz" if packed else "x.npy")
    (np.savez_compressed if packed else np.save)(path, stored)
    for index in [(), (0,), (4,), (-5,), (3, -1), (0, 2, 1), (4, 3, 2, 1)]:
        read = array_in(path, index=index, most=200)
        np.testing.assert_array_equal(read, stored[index])
        assert read.shape == stored[index].shape
    for index in [(5,), (-6,), (0, 4), (0, 0, 0, 0, 0)]:
        with pytest.raises(InputError, match="asks for entry"):
            array_in(path, index=index, most=200)


def test_empty_arrays_and_single_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    np.save(tmp_path / "one.npy", np.array(7))
    assert array_in(tmp_path / "none.npy", most=64).shape == (0, 3)
    assert array_in(tmp_path / "one.npy", most=64) == 7


@pytest.mark.slow
def test_an_archive_is_unpacked_no_further_than_its_entry(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    bomb(path, 2**24)  # 128 MiB
    tracemalloc.start()
    for index in ((0,), (-1,)):
        assert array_in(path, "images", index, most=64).shape == (8, 8)
    with pytest.raises(InputError, match=r"\(262144, 8, 8\), more than the 64 that fit"):
        array_in(path, "images", most=64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26


def test_archives_that_cannot_be_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros((8, 8)))
    data = bytearray((tmp_path / "x.npz").read_bytes())
    for at, value, name in ((6, 1, "locked"), (8, 99, "method")):  # flags and method of the entry
        changed = data.copy()
        changed[at] = value
        changed[data.index(b"PK\x01\x02") + at + 2] = value
        (tmp_path / f"{name}.npz").write_bytes(changed)
        with pytest.raises(InputError, match="no array of numbers"):
            array_in(tmp_path / f"{name}.npz", most=64)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("side", [9, 12_000, 100_000])
def test_a_picture_that_claims_to_be_enormous(side: int, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(png(side, side))
    with pytest.raises(InputError, match=f"{side} × {side} pixels|far more pixels"):
        read_input(str(tmp_path / "x.png"), (1, 1, 8, 8))


def test_a_picture_with_an_enormous_text(tmp_path: Path) -> None:
    packed = zlib.compress(bytes(2**26))
    Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(tmp_path / "x.png")
    data = (tmp_path / "x.png").read_bytes()
    text = b"zTXt" + b"Title\x00\x00" + packed
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    (tmp_path / "x.png").write_bytes(data[:33] + chunk + data[33:])
    with pytest.raises(InputError, match="cannot read"):
        read_input(str(tmp_path / "x.png"), (1, 1, 8, 8))


def test_json_is_read_up_to_a_size_and_a_depth(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1, 2]")
    assert json_in(path, 6) == json_in(path) == [1, 2]
    with pytest.raises(OSError, match="larger than 5 bytes"):
        json_in(path, 5)
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ValueError, match="too deep"):
        json_in(path)
    with pytest.raises(InputError, match=r"holds no checks.*too deep"):
        read_checks(path, 64)
    with pytest.raises(InputError, match="too deep"):
        Explanation.from_json(path)
    with pytest.raises(InputError, match="too deep"):
        Explanation.from_json('{"a":' + path.read_text() + "}")
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="larger than 5 bytes"):
        json_in(path, 5)


def test_a_model_larger_than_any_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)
    with pytest.raises(ModelError, match="larger than 2 GiB"):
        load_network(path)


@pytest.mark.parametrize("option", ["--order", "--features", "--costs", "--free"])
def test_options_refuse_enormous_files(option: str, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "long.json").write_text("[" + "0," * 2_000_000 + "0]")
    (tmp_path / "x.npy").write_bytes(header((10**12,)))
    told = {"deep.json": "too deep", "long.json": "larger than", "x.npy": "1000000000000,"}
    for file, expected in told.items():
        with pytest.raises(InputError, match=f"^{option}: .*{expected}"):
            numbers_in(str(tmp_path / file), option, network())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("explain", ["--order", "x.npy"]),
        ("contrastive", ["--features", "x.npy"]),
        ("minimum", ["--costs", "x.npy"]),
        ("compare", ["--order", "x.npy"]),
        ("export", ["--out", "x.lp", "--free", "x.npy"]),
    ],
)
def test_commands_refuse_enormous_files(
    name: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.npy").write_bytes(header((10**12,)))
    assert_one_line(run_here(name, MODEL, SEVEN, *AT, *options), "more than the 64 that fit")


@pytest.mark.slow
def test_memory_that_ends_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = (
        "import milp_verix.api.problem_methods as api, milp_verix.__main__ as cli, numpy as np\n"
        "api.Problem.explain = lambda *_, **__: np.ones(10**15)\n"
        "cli.main()"
    )
    arguments = list(map(str, EXPLAIN))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert_one_line(done, "out of memory (Unable to allocate")


@pytest.mark.slow
def test_what_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('cannot map its\\nsegment')")
    path = f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"
    assert_one_line(run(*EXPLAIN, PYTHONPATH=path), "needs: cannot map its segment")


FULL: list[list[object]] = [
    ["--help"],
    ["--version"],
    ["solvers", "phase"],
    ["explain", "--help"],
    EXPLAIN,
    ["contrastive", *EXPLAIN[1:]],
    ["compare", *EXPLAIN[1:], "--solvers", "phase"],
]


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", FULL, ids=lambda a: str(a[0]))
def test_an_output_that_takes_nothing(arguments: list[object]) -> None:
    with Path("/dev/full").open("w") as full:
        done = limited({}, *arguments, stdout=full.fileno())
        assert_one_line(done, "No space left on device")
    reading, writing = os.pipe()
    os.close(reading)
    done = limited({}, *arguments, stdout=writing)
    os.close(writing)
    assert_one_line(done, "Broken pipe")


@pytest.mark.slow
def test_no_output_at_all() -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command("explain", MODEL, SEVEN, *AT)]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_what_is_printed_to_nobody_is_written_and_drawn(tmp_path: Path) -> None:
    out, picture = tmp_path / "out.json", tmp_path / "out.png"
    with Path("/dev/full").open("w") as full:
        done = limited({}, *EXPLAIN, "--json", out, "--plot", picture, stdout=full.fileno())
    assert_one_line(done, "No space left on device")
    assert Explanation.from_json(out).explanation == explained().explanation
    with Image.open(picture) as image:
        image.load()


@contextmanager
def small_disk() -> Iterator[None]:
    """Let no file become larger than 100 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def stored(path: Path) -> None:
    """Write to ``path`` what its name says."""
    found = explained()
    if path.name == "checks.json":
        write_checks(path, checks_of(found), 64)
    elif path.suffix == ".json":
        found.to_json(path)
    elif path.suffix == ".lp":
        encoding = encode_check(network(), found.input, [0], epsilon=0.1)
        row, _ = encoding.output.row(0, encoding.program.columns)
        solving._write(encoding, -row, path, ())
    else:
        write_figure(found.plot(), path, "png")


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("name", ["out.json", "checks.json", "out.png", "out.lp"])
def test_a_disk_that_is_full_leaves_no_half_of_a_file(
    name: str, earlier: bool, tmp_path: Path
) -> None:
    path = tmp_path / name
    if earlier:
        path.write_text("earlier")
    with pytest.raises(InputError, match=f"cannot write .*{name}: File too large"), small_disk():
        stored(path)
    left = {found.name: found.read_text() for found in tmp_path.iterdir()}
    assert left == ({name: "earlier"} if earlier else {})


@pytest.mark.slow
def test_a_result_that_cannot_be_stored_is_still_printed(tmp_path: Path) -> None:
    done = limited({resource.RLIMIT_FSIZE: 100}, *EXPLAIN, "--json", tmp_path / "out.json")
    *saves, last = done.stderr.splitlines()
    assert (done.returncode, last.split(":")[0]) == (2, "error")
    assert "File too large" in last
    assert all(line.startswith("warning: ") for line in saves)  # while it ran
    assert "28 of 64 features" in done.stdout


def written(path: Path) -> None:
    write_atomically(path, "new")


def interrupted(path: Path) -> None:
    with suppress(KeyboardInterrupt), replacing(path) as target:
        target.write_text("half")
        raise KeyboardInterrupt


@pytest.mark.parametrize(("act", "left"), [(written, "new"), (interrupted, "old")])
def test_a_file_is_replaced_whole_or_not_at_all(
    act: Callable[[Path], None], left: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    act(path)
    assert {found.name: found.read_text() for found in tmp_path.iterdir()} == {"out.json": left}


def test_a_picture_goes_through_a_pipe() -> None:
    code = (
        "from milp_verix.views.plot import write_figure\n"
        "class Figure:\n    def render(self, _): return b'picture'\n"
        "write_figure(Figure(), '/dev/stdout', 'png')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=ENVIRONMENT
    )
    assert (done.stdout, done.stderr) == (b"picture", b"")


def test_costs_from_a_file_are_those_given(tmp_path: Path) -> None:
    costs = np.arange(1, 65) % 5 + 1.0
    np.save(tmp_path / "costs.npy", costs)
    (tmp_path / "costs.json").write_text(json.dumps(costs.tolist()))
    found = []
    for name in ("costs.npy", "costs.json"):
        out = tmp_path / "out.json"
        files = ["--costs", tmp_path / name, "--json", out]
        done = run_here("contrastive", MODEL, SEVEN, *AT, "--quiet", *files)
        assert (done.returncode, done.stderr) == (0, "")
        found.append(json.loads(out.read_text())["costs"])
    assert found[0] == found[1] == costs.tolist()


def test_a_number_of_thousands_of_digits_is_told_in_our_words(tmp_path: Path) -> None:
    digits, path = "7" * 5_000, tmp_path / "x.json"
    path.write_text(f'{{"features": [{digits}]}}')
    toml = tmp_path / "x.toml"
    toml.write_text(f"features = [{digits}]")
    asked: list[Callable[[], object]] = [
        lambda: Explanation.from_json(path),
        lambda: Inputs.from_file(path),
        lambda: Inputs.from_file(toml),
        lambda: Inputs([continuous("age", 0, 1)], rules=[f"age <= {digits}"]),
    ]
    for ask in asked:
        with pytest.raises(InputError, match="has thousands of digits"):
            ask()
    np.savez(tmp_path / "x.npz", a=np.eye(3))
    with pytest.raises(InputError, match="cannot tell what the input"):
        read_input(f"{tmp_path / 'x.npz'}:a[{digits}]", 3)
