"""The version of milp-verix that is installed."""

from importlib import metadata


def version() -> str:
    """Return the version, ``"0+unknown"`` where the package is run from its source alone."""
    try:
        return metadata.version("milp-verix")
    except metadata.PackageNotFoundError:
        return "0+unknown"
