"""What all packages use: errors, arguments, clocks, files, numbers; and the version."""


def version() -> str:
    """Return the version, ``"0+unknown"`` where the package is run from its source alone."""
    from importlib import metadata

    try:
        return metadata.version("milp-verix")
    except metadata.PackageNotFoundError:
        return "0+unknown"
