"""The command ``verix-check MODEL.onnx proof.json``."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from verix_checker.neurons import UnreadableError
from verix_checker.numbers import stored
from verix_checker.verification import verify


def say(line: str) -> None:
    """Print a line, or end with exit code 2 where nobody reads it."""
    try:
        print(line, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes at its end
        print(f"cannot print: {error.strerror}", file=sys.stderr)
        sys.exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check two files, print what is verified, and return the exit code."""
    parser = ArgumentParser(
        description="Check the certificate of an explanation in exact arithmetic.",
        epilog="Exit code 0: the claim is proven. 1: it is refused, and why. 2: a file cannot be "
        "read, or is not named, or nothing can be printed.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.onnx", help="the network explained")
    parser.add_argument("proof", type=Path, metavar="proof.json", help="the certificate")
    files = parser.parse_args(arguments)
    try:
        for line in verify(*stored(files.model, files.proof)):
            say(line)
        return 0
    except Exception as error:
        text = str(error).encode("unicode_escape").decode()  # no name of a file ends the line
        missing = isinstance(error, LookupError)  # whose text is a key or an index alone
        text = f"it lacks a part, or names one that is not there: {text}" if missing else text
        say(f"REFUSED: {type(error).__name__}: {text[:500]}")
        return 2 if isinstance(error, OSError | UnreadableError) else 1
