"""Packages of solvers: optional, and looked for only when a solver is."""

from importlib import import_module


def missing(package: str) -> str | None:
    """Return why ``package`` cannot be used and what to do, or None if it can."""
    try:
        import_module(package)
    except ImportError as error:
        return f"{package} does not import ({error}): pip install {package}"
    return None
