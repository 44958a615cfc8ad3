"""Settings to world to faces: the only file that knows every name."""

from handrail.faces.cli.main import cli


def main() -> None:
    """The program."""
    cli.main(prog_name="handrail")
