"""Messages of other libraries' errors, short enough to pass on."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
