"""On Windows the program says in a sentence that it does not run there."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "entry",
    [
        "from handrail.__main__ import main; main()",
        "import runpy; runpy.run_module('handrail', run_name='__main__')",
    ],
)
def test_on_windows_it_says_that_wsl_is_needed(entry: str) -> None:
    start = f"import sys; sys.platform = 'win32'; sys.argv = ['handrail', 'serve']; {entry}"

    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False)

    said = "handrail: it does not run on Windows itself\n  run it in WSL: wsl --install\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
