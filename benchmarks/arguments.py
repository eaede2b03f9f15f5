"""Arguments that the scripts share, and the networks and images that these name."""

import argparse
import time
from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import NDArray
from tables import add_write

from milp_verix import OnnxNetwork
from milp_verix.inputs.input_files import read_input, scale_bytes
from milp_verix.solvers import open_session

IMAGES = "a .npz file with KEY after a colon; bytes are scaled to [0, 1]"
IMAGE = "a .npy file, or a .npz file with KEY[INDEX] after a colon; bytes are scaled to [0, 1]"


def described(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser without options that tells a script's ``documentation``.

    Its first line describes the script, the rest comes after the options.
    """
    first, _, rest = str(documentation).partition("\n\n")
    return argparse.ArgumentParser(
        description=first, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def parser(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that all measurements take."""
    made = described(documentation)
    made.add_argument(
        "--cpu-clock",
        action="store_true",
        help="count limits and seconds in CPU time of this process: for machines that others use",
    )
    add_write(made)
    return made


def asked(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options under their own names, by which questions take them."""
    return {name: getattr(arguments, name) for name in names}


def add_images(
    made: argparse.ArgumentParser, *, indices: str = "0:10", several: bool = False
) -> None:
    """Add a model, its images and what is asked of them.

    With ``several`` there may be several radii, and no images beside a model that brings its own.
    """
    made.add_argument("model")
    made.add_argument("images", nargs="?" if several else None, help=IMAGES)
    made.add_argument(
        "--indices", type=numbers, default=indices, help="images, as 0:10 or 3,5,7 (%(default)s)"
    )
    made.add_argument("--epsilon", type=float, nargs="+" if several else None, required=True)
    made.add_argument("--features", default=None, help="pixels, or by default each input")


def add_image(made: argparse.ArgumentParser) -> None:
    """Add a model and one image with its ball."""
    made.add_argument("model")
    made.add_argument("image", help=IMAGE)
    made.add_argument("--epsilon", type=float, required=True)


def parsed(made: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the arguments; with ``--cpu-clock`` this process counts CPU time from here on."""
    arguments = made.parse_args()
    if arguments.cpu_clock:
        time.monotonic = time.process_time
    return arguments


def names(text: str) -> list[str]:
    """Return the names in a list with commas between."""
    return [name for name in text.split(",") if name]


def numbers(text: str) -> range | list[int]:
    """Return the numbers of a range such as ``0:10``, or of a list with commas between."""
    if ":" in text:
        return range(*(int(end) for end in text.split(":")))
    return [int(number) for number in text.split(",")]


def read_image(
    network: OnnxNetwork, name: str, domain: tuple[float, float] = (0.0, 1.0)
) -> NDArray[Any]:
    """Return an image as the network takes it, with bytes scaled to the domain."""
    return scale_bytes(read_input(name, network.input_shape), domain, network.dtype)


def read_images(
    network: OnnxNetwork, arguments: argparse.Namespace
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the images that ``add_images`` names, with their numbers."""
    for index in arguments.indices:
        yield index, read_image(network, f"{arguments.images}[{index}]")


def solver_versions(solvers: Iterable[str]) -> list[str]:
    """Return the name and version of each solver, as its sessions tell them."""
    sessions = [open_session(solver) for solver in solvers]
    told = [f"{session.name} {session.version}" for session in sessions]
    for session in sessions:
        session.close()
    return list(dict.fromkeys(told))
