"""The program ``milp-verix``, also run by ``python -m milp_verix``."""

from milp_verix.cli.startup import loading


def main() -> None:
    """Run the command line."""
    with loading():
        from milp_verix.cli.app import app, ending
    with ending():
        app()


if __name__ == "__main__":
    main()
