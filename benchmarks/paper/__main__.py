"""Make the tables and figures of the VeriX paper, and ours beside them.

    python -m benchmarks.paper --scale small --out FOLDER
    python -m benchmarks.paper --scale full --out FOLDER --mnist mnist_test.npz \
        --gtsrb gtsrb10.npz --taxinet taxinet.npz

FOLDER gets ``tables.md`` and ``figures/``. The small scale needs no data and no PyTorch: 8×8 digits
and networks for them ship. The full scale trains its networks first (``pip install '.[train]'``).
Everything computed is in journals in FOLDER: the same command goes on where it was cut off.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import milp_verix
from benchmarks.paper.figures import FIGURES
from benchmarks.paper.scales import SCALES
from benchmarks.paper.signal import adversarial_table, signal_table
from benchmarks.paper.table_architectures import architectures_table, largest_table
from benchmarks.paper.table_complete import complete_table
from benchmarks.paper.table_networks import networks_table
from benchmarks.paper.table_rivals import rivals_table
from benchmarks.paper.workplace import Workplace
from benchmarks.tables import Measurement, measured_now, put, tables_to_write
from milp_verix.base.files import write_atomically

TABLES: dict[str, tuple[str, Callable[[Workplace], Sequence[object]]]] = {
    "networks": ("Networks", networks_table),
    "rivals": ("VeriX's orders, Anchors and LIME", rivals_table),
    "complete": ("Complete against incomplete checks", complete_table),
    "architectures": ("Complete checks by architecture", architectures_table),
    "largest": ("The largest networks, incomplete checks", largest_table),
    "signal": ("Sizes of explanations as a signal", signal_table),
    "adversarial": ("Networks trained adversarially", adversarial_table),
}
_SETS = ("mnist", "gtsrb", "taxinet")


def main() -> int:
    """Do what the arguments say; return the exit code."""
    arguments = _parser().parse_args()
    if arguments.cpu_clock:
        time.monotonic = time.perf_counter = time.process_time
    scale = SCALES[arguments.scale]()
    scale = scale if arguments.images is None else scale.at_most(arguments.images)
    wanted = arguments.only or [*TABLES, *FIGURES]
    try:
        place = Workplace(arguments.out, scale, {name: getattr(arguments, name) for name in _SETS})
        _make_tables(place, wanted, arguments.write)
        for name in FIGURES:
            if name in wanted:
                print(f"figure {name}", flush=True)
                _draw(place, name)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    except (milp_verix.MilpVerixError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _make_tables(place: Workplace, wanted: Sequence[str], written: Sequence[str]) -> None:
    """Write ``tables.md`` anew after each table, and those of ``written`` to their places."""
    measured = _measured()
    pieces = [f"# The evaluation of the VeriX paper, scale {place.scale.name}", str(measured)]
    for name, (title, make) in TABLES.items():
        if name not in wanted:
            continue
        tables = [str(table) for table in make(place)]
        pieces += [f"## {title}", *tables]
        print("\n\n".join(pieces[-1 - len(tables) :]), flush=True)
        write_atomically(place.out / "tables.md", "\n\n".join(pieces) + "\n")
        if (place_name := f"paper-{name}") in written:
            put(place_name, [_measured("--only", name, "--write", place_name), *tables])


def _measured(*chosen: str) -> Measurement:
    """Return how this run measures; ``chosen`` take the place of its choice of tables."""
    given = sys.argv[1:]
    for option in ("--only", "--write") if chosen else ():
        if option in given:
            first = given.index(option)
            others = (k for k in range(first + 1, len(given)) if given[k].startswith("--"))
            given = given[:first] + given[next(others, len(given)) :]
    named = [Path(word).name if "/" in word else word for word in (*given, *chosen)]
    return replace(measured_now(), command=" ".join(["python -m benchmarks.paper", *named]))


def _draw(place: Workplace, name: str) -> None:
    drawing = FIGURES[name](place)
    if drawing is None:
        print(f"figure {name}: nothing to draw at this scale")
        return
    for suffix in ("pdf", "png"):
        path = place.out / "figures" / f"{name}.{suffix}"
        write_atomically(path, drawing.render(suffix))


def _parser() -> argparse.ArgumentParser:
    first, _, rest = str(__doc__).partition("\n\n")
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=first,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--scale", choices=SCALES, required=True)
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    for name in _SETS:
        made.add_argument(f"--{name}", type=Path, metavar="PATH")
    made.add_argument(
        "--only", nargs="+", choices=[*TABLES, *FIGURES], help="some of the tables and figures"
    )
    made.add_argument("--images", type=int, metavar="N", help="at most N images a question")
    made.add_argument("--cpu-clock", action="store_true", help="count seconds in CPU time")
    made.add_argument(
        "--write",
        nargs="+",
        default=[],
        metavar="NAME",
        choices=[name for name in tables_to_write() if name.startswith("paper-")],
        help="write tables to their places in benchmarks/measured/paper.md, too: %(choices)s",
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
