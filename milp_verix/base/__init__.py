"""What all packages use: errors, arguments, clocks, files, numbers; and the version."""

from functools import cache


@cache  # each result tells it, and the search through installed packages takes milliseconds
def version() -> str:
    """Return the version, ``"0+unknown"`` where the package is run from its source alone."""
    from importlib import metadata

    try:
        return metadata.version("milp-verix")
    except metadata.PackageNotFoundError:
        return "0+unknown"
