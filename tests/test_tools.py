"""What stands behind `make`: the parts of a test run, the coverage gate, the benchmarks and the set-up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import coverage_gate
from tools import test as runner
from tools.coverage_gate import Measured
from tools.test import Row

ROOT = Path(__file__).resolve().parent.parent


# --- tools/test.py ------------------------------------------------------------------------------------------


def test_every_part_has_a_budget_and_every_budget_a_part() -> None:
    budget = runner.read_budget((ROOT / "tests" / "budget.toml").read_text())

    assert list(budget) == ["setup", *runner.PARTS]


def test_a_part_goes_on_until_a_command_fails_and_prints_only_that_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    says = (sys.executable, "-c", "print('fine')")
    fails = (sys.executable, "-c", "print('not fine'); raise SystemExit(3)")

    row = runner.run_part("lint", [says, fails, says], 1.0)

    assert (row.part, row.budget, row.passed) == ("lint", 1.0, False)
    printed = capsys.readouterr().out.splitlines()[1:]
    assert printed == ["not fine", "(exit 3)", "lint: failed"]


def test_a_part_that_passes_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    row = runner.run_part("lint", [(sys.executable, "-c", "print('fine')")], 1.0)

    assert row.passed
    assert capsys.readouterr().out == "lint: ok\n"


def test_the_table_shows_the_minutes_beside_the_budget_and_says_what_is_over() -> None:
    rows = [
        Row("setup", 0.5, 3.0, passed=True),
        Row("tests", 7.251, 6.0, passed=True),
        Row("demo", 0.1, 0.5, passed=False),
    ]

    assert runner.table(rows).splitlines() == [
        "part        minutes   budget  verdict",
        "setup          0.50     3.00  ok",
        "tests          7.25     6.00  over",
        "demo           0.10     0.50  failed",
        "all            7.85     9.50",
    ]


def test_the_minutes_of_the_set_up_are_those_of_its_stamp(tmp_path: Path) -> None:
    stamp = tmp_path / ".ready"

    assert runner.setup_row(stamp, 3.0) == Row("setup", 0.0, 3.0, passed=True)
    stamp.write_text("90\n")
    assert runner.setup_row(stamp, 3.0) == Row("setup", 1.5, 3.0, passed=True)


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["lnit"]) == 2
    assert capsys.readouterr().err == (
        "no such part: lnit; there are lint, types, imports, docs, tests, demo\n"
    )


# --- tools/coverage_gate.py ---------------------------------------------------------------------------------


def test_a_report_is_read_file_by_file() -> None:
    report = {
        "files": {
            "src/handrail/app.py": {
                "summary": {"num_statements": 12},
                "missing_lines": [3, 4],
                "missing_branches": [[7, 9], [8, -1]],
            }
        }
    }

    assert coverage_gate.read_report(report) == [
        Measured("src/handrail/app.py", 12, (3, 4), ((7, 9), (8, -1)))
    ]


@pytest.mark.parametrize(
    ("path", "pure"),
    [
        ("src/handrail/engine/decide.py", True),
        ("src/handrail/workflows/draw/layout.py", True),
        ("src/handrail/plan/parse.py", True),
        ("src/handrail/faces/cli/main.py", False),
        ("src/handrail/app.py", False),
        ("src/handrail", False),
    ],
)
def test_the_files_of_the_pure_packages_are_pure(path: str, *, pure: bool) -> None:
    assert coverage_gate.is_pure(path) is pure


def test_one_missing_line_or_branch_of_a_pure_package_is_a_shortfall() -> None:
    files = [
        Measured("src/handrail/engine/decide.py", 1000, (7, 9, 10, 11), ((9, 12), (14, -3))),
        Measured("src/handrail/app.py", 1000, (1, 2), ((9, 12),)),
    ]

    assert list(coverage_gate.shortfalls(files)) == [
        "src/handrail/engine/decide.py: never run: 7, 9-11",
        "src/handrail/engine/decide.py: never taken: 9 to 12, 14 to the end",
    ]


def test_fewer_than_95_of_100_lines_are_a_shortfall() -> None:
    enough = [Measured("src/handrail/app.py", 100, (1, 2, 3, 4, 5), ())]
    short = [Measured("src/handrail/app.py", 100, (1, 2, 3, 4, 5, 6), ())]

    assert list(coverage_gate.shortfalls(enough)) == []
    assert list(coverage_gate.shortfalls(short)) == [
        "src/handrail/app.py: never run: 1-6",
        "lines overall: 94.00 %, and 95 % are promised",
    ]


def test_a_run_that_measured_nothing_is_a_shortfall() -> None:
    assert list(coverage_gate.shortfalls([])) == ["nothing was measured"]


# --- tools/bench --------------------------------------------------------------------------------------------


def _bench(folder: Path) -> subprocess.CompletedProcess[str]:
    command = (str(ROOT / "tools" / "bench"), str(folder))
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("print('load 3.1ms 10ms ok')", 0),
        ("print('load 3.1ms 10ms ok\\ncheck 20ms 10ms short')", 1),
        ("print('nothing to see')", 1),
        ("print('load 3.1ms 10ms ok'); raise SystemExit(1)", 1),
    ],
)
def test_a_figure_that_falls_short_fails_the_benchmarks(tmp_path: Path, body: str, code: int) -> None:
    (tmp_path / "bench_one.py").write_text(body)
    (tmp_path / "bench_two.py").write_text("print('draw 1ms 2ms ok')")

    done = _bench(tmp_path)

    assert done.returncode == code
    assert done.stdout.endswith("draw 1ms 2ms ok\n")


def test_a_folder_without_benchmarks_is_said_to_be_one(tmp_path: Path) -> None:
    done = _bench(tmp_path)

    assert (done.returncode, done.stderr) == (0, f"bench: no bench_*.py in {tmp_path}\n")


# --- tools/setup --------------------------------------------------------------------------------------------


def _project(folder: Path) -> Path:
    """A copy of the set-up in a folder of its own, so that it finds no `.venv`."""
    script = folder / "tools" / "setup"
    script.parent.mkdir()
    script.write_bytes((ROOT / "tools" / "setup").read_bytes())
    return script


def _setup(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    command = ("sh", str(_project(folder)))
    environment = {**os.environ, "PYTHON": python}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


def test_a_missing_python_is_named_with_what_to_do(tmp_path: Path) -> None:
    done = _setup(tmp_path, "/nowhere/python")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "setup: Python 3.11 or newer is missing (looked for /nowhere/python)."
        " Debian 12: sudo apt-get install -y python3 python3-venv. Or name one with PYTHON=/path/to/python."
    )
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_cannot_make_environments_is_named(tmp_path: Path) -> None:
    python = tmp_path / "a python"
    python.write_text(
        '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; *executable*) echo /odd/python ;; esac\n'
    )
    python.chmod(0o755)

    # The set-up goes on with the path that Python gives for itself, here one that does not exist.
    done = _setup(tmp_path, str(python))

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "setup: /odd/python has no module ensurepip, which environments need:"
        " name another Python with PYTHON=..."
    )


def _bare(folder: Path, *names: str) -> tuple[Path, Path]:
    """A PATH with a few programs only, and the set-up of a machine that has no PostgreSQL beside it."""
    tools, script = folder / "bin", _project(folder)
    tools.mkdir()
    for name in ("sh", "dirname", "date", "mktemp", "rm", "id", *names):
        (tools / name).symlink_to(str(shutil.which(name)))
    script.write_text(script.read_text().replace("/usr/lib/postgresql", "/nowhere/postgresql"))
    return tools, script


def _packages(tools: Path, script: Path) -> subprocess.CompletedProcess[str]:
    command = (str(tools / "sh"), str(script), "packages")
    env = {"PATH": str(tools), "SBIN": str(tools)}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env)


def test_packages_that_are_missing_and_cannot_be_installed_are_named(tmp_path: Path) -> None:
    done = _packages(*_bare(tmp_path))

    assert done.returncode == 1
    assert done.stderr == (
        "setup: missing: gcc libc6-dev strace chromium nginx systemd nodejs npm postgresql."
        " Install it: sudo apt-get install -y"
        " gcc libc6-dev strace chromium nginx systemd nodejs npm postgresql\n"
    )


@pytest.mark.parametrize(
    ("programs", "missing"),
    [
        (
            ("initdb", "pg_ctl", "postgres", "pg_dump", "pg_restore"),
            "gcc libc6-dev strace chromium nginx systemd nodejs npm",
        ),
        (
            ("initdb", "pg_ctl", "postgres", "pg_dump"),
            "gcc libc6-dev strace chromium nginx systemd nodejs npm postgresql",
        ),
    ],
)
def test_a_postgresql_that_the_path_leads_to_will_do_if_it_is_whole(
    tmp_path: Path, programs: tuple[str, ...], missing: str
) -> None:
    tools, script = _bare(tmp_path, "readlink")
    (tmp_path / "pg").mkdir()
    for name in programs:
        (tmp_path / "pg" / name).touch(0o755)
    (tools / "initdb").symlink_to(tmp_path / "pg" / "initdb")

    assert _packages(tools, script).stderr.startswith(f"setup: missing: {missing}. Install it: ")


def test_postgresql_is_installed_without_a_server_for_the_whole_machine(tmp_path: Path) -> None:
    tools, script = _bare(tmp_path, "mkdir", "rmdir", "tee", "tail", "env", "cat")
    etc = tmp_path / "etc"
    script.write_text(script.read_text().replace("/etc/postgresql-common", str(etc)))
    for name, text in (
        ("sudo", 'shift\nexec "$@"'),
        ("apt-get", f"cat {etc}/createcluster.d/*\n[ $1 = update ]"),
        ("sleep", ""),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)

    done = _packages(tools, script)

    assert done.returncode == 1
    assert done.stderr.endswith(
        "create_main_cluster = false\n"
        "setup: could not be installed: gcc libc6-dev strace chromium nginx systemd nodejs npm postgresql."
        " By hand: sudo apt-get install -y"
        " gcc libc6-dev strace chromium nginx systemd nodejs npm postgresql\n"
    )
    assert list(etc.iterdir()) == []


def test_foreign_programs_that_are_there_are_not_brought_again(tmp_path: Path) -> None:
    command = ("sh", str(_project(tmp_path)), "packages")
    shutil.copytree(ROOT / "tools" / "node", tmp_path / "tools" / "node")
    shutil.copy(ROOT / "tools" / "get-jj", tmp_path / "tools")
    shutil.copytree(ROOT / ".tools", tmp_path / ".tools", symlinks=True)
    (tmp_path / ".node").symlink_to(ROOT / ".node")

    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
