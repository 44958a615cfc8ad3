"""The entry point of the program `handrail`. It decides what to import before anything else loads."""

import gc
import sys

from handrail.clients.hook_entry import answer_hook


def main() -> None:
    """Run a command. On Windows, which lacks the locks that Handrail needs, exit and point to WSL."""
    if sys.platform == "win32":
        raise SystemExit("handrail: it does not run on Windows itself\n  run it in WSL: wsl --install")
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        # The process ends in a moment. Garbage collection takes a sixth of its time and finds nothing,
        # neither during imports nor at exit, where Python collects what is not frozen.
        gc.disable()
        answer_hook(words[1:])
        gc.freeze()
        return
    # A client waits for each hook, and click alone takes twice as long as Python takes to start.
    from handrail.cli.main import cli  # noqa: PLC0415 - the reason above

    cli.main(prog_name="handrail")


if __name__ == "__main__":
    main()
