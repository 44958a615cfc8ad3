"""What stands behind `make`: the parts of a test run, the coverage gate, the benchmarks and the set-up."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tools import bench, coverage_gate
from tools import test as runner
from tools.coverage_gate import Measured
from tools.test import Row

ROOT = Path(__file__).resolve().parent.parent


# --- tools/test.py ------------------------------------------------------------------------------------------


def test_every_part_has_a_budget_and_every_budget_a_part() -> None:
    budget = runner.read_budget((ROOT / "tests" / "budget.toml").read_text())

    assert list(budget) == ["setup", *runner.PARTS, *runner.ASKED]


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

    assert runner.table(rows, 7.5).splitlines() == [
        "part        minutes   budget  verdict",
        "setup          0.50     3.00  ok",
        "tests          7.25     6.00  over",
        "demo           0.10     0.50  failed",
        "all            7.50     9.50",
    ]


def test_the_minutes_of_the_set_up_are_those_of_its_stamp(tmp_path: Path) -> None:
    stamp = tmp_path / ".ready"

    assert runner.setup_row(stamp, 3.0) == Row("setup", 0.0, 3.0, passed=True)
    stamp.write_text("90\n")
    assert runner.setup_row(stamp, 3.0) == Row("setup", 1.5, 3.0, passed=True)


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["lnit"]) == 2
    assert capsys.readouterr().err == (
        "no such part: lnit; there are lint, types, imports, docs, collect, demo, tests, quick, clients\n"
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
        ("src/handrail/drawing/layout.py", True),
        ("src/handrail/documents/plan/parse.py", True),
        ("src/handrail/runtime/measures.py", True),
        ("src/handrail/runtime/turn.py", False),
        ("src/handrail/cli/main.py", False),
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


def _benches(folder: Path, **bodies: str) -> tuple[Path, Path]:
    """A folder of benchmarks and one for the page of their figures."""
    benchmarks, docs = folder / "benchmarks", folder / "docs"
    benchmarks.mkdir()
    docs.mkdir()
    for name, body in bodies.items():
        (benchmarks / f"bench_{name}.py").write_text(f'"""About {name}.\n\nMore."""\n{body}\n')
    return benchmarks, docs


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("print('load 3.10 10.00 ok')", 0, ""),
        ("print('load 3.10 10.00 ok\\ncheck 20.00 10.00 short')", 1, "falls short: check"),
        ("print('load - 10.00 missing')", 0, "could not measure: load"),
        ("print('nothing to see')", 1, "printed no figure"),
        ("print('load 3.10 10.00 ok'); raise SystemExit(1)", 1, "failed"),
    ],
)
def test_a_figure_that_falls_short_fails_the_benchmarks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, code: int, said: str
) -> None:
    benchmarks, docs = _benches(tmp_path, one=body, two="print('draw 1.00 2.00 ok')")

    assert bench.main([], benchmarks, docs) == code

    out, err = capsys.readouterr()
    assert "draw 1.00 2.00 ok\n" in out
    assert err == (f"bench: bench_one.py {said}\n" if said else "")


def test_a_full_run_writes_a_page_of_all_figures_and_their_pictures(tmp_path: Path) -> None:
    figures = "print('fast 3.10 10.00 ok\\nslow 4.00 9.00 short\\neven 1.00 1.00 ok\\nlost - 2.00 missing')"
    bars = "print('# bar A step, microseconds: Handrail = 250.4\\n# bar A step, microseconds: Other = 2.5')"
    benchmarks, docs = _benches(tmp_path, one=f"{figures}\n{bars}")
    (docs / "pictures").mkdir()
    (docs / "pictures" / "bench-gone.svg").write_text("of an earlier run")

    assert bench.main([], benchmarks, docs) == 1

    page = (docs / "benchmarks.md").read_text("utf-8")
    assert "4 figures in 0 minutes: 2 ok, 1 short, 1 missing.\n" in page
    assert re.search(r"About one. Took \d+ s.\n", page)
    assert page.split("|---|---|---|---|\n")[1] == (
        "| `fast` | 3.10 | at most 10.00 | ok |\n"
        "| `slow` | 4.00 | at least 9.00 | **short** |\n"
        "| `even` | 1.00 | 1.00 | ok |\n"
        "| `lost` | - | 2.00 | **missing** |\n"
    )
    assert "![A step, microseconds](pictures/bench-a-step-microseconds.svg)\n" in page
    (picture,) = (docs / "pictures").iterdir()
    drawn = ET.fromstring(picture.read_text("utf-8"))  # noqa: S314 - our own picture
    answer = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert (picture.name, {"Handrail", "250", "Other", "2.5"} - {*answer}) == (
        "bench-a-step-microseconds.svg",
        set(),
    )


def test_benchmarks_that_are_named_write_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    benchmarks, docs = _benches(tmp_path, one="print('load 1.00 2.00 ok')", two="raise SystemExit(1)")

    assert bench.main(["one"], benchmarks, docs) == 0
    assert bench.main(["bench_one.py"], benchmarks, docs) == 0
    assert list(docs.iterdir()) == []
    assert capsys.readouterr().out.count("load 1.00 2.00 ok\n") == 2


def test_what_a_benchmark_keeps_is_there_for_the_next_and_gone_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = "import os, pathlib; folder = pathlib.Path(os.environ['HANDRAIL_BENCH_KEPT'])"
    benchmarks, docs = _benches(
        tmp_path,
        one=f"{folder}; (folder / 'word').write_text('kept')",
        two=f"{folder}; print('#', folder, (folder / 'word').read_text())",
    )

    bench.main(["one", "two"], benchmarks, docs)

    stored = re.search(r"^# (/.+) kept$", capsys.readouterr().out, re.MULTILINE)
    assert stored is not None
    assert not Path(stored[1]).exists()


def test_a_benchmark_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    benchmarks, docs = _benches(tmp_path, one="", two="")

    with pytest.raises(SystemExit, match=r"^bench: there is no three; there are one, two$"):
        bench.main(["three"], benchmarks, docs)


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


ALL_PACKAGES = "gcc libc6-dev strace chromium nginx systemd nodejs npm postgresql"


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
        f"setup: missing: {ALL_PACKAGES}. Install it: sudo apt-get install -y {ALL_PACKAGES}\n"
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
        f"setup: could not be installed: {ALL_PACKAGES}. By hand: sudo apt-get install -y {ALL_PACKAGES}\n"
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


def test_foreign_programs_that_cannot_be_installed_are_tried_four_times_and_named(tmp_path: Path) -> None:
    tools, script = _bare(tmp_path, "cat", "cp", "mkdir", "tail")
    shutil.copytree(ROOT / "tools" / "node", tmp_path / "tools" / "node")
    node = (ROOT / ".node" / "node").resolve()
    for name, text in (
        ("node", f'exec {node} "$@"'),
        ("npm", f'echo once more >>{tmp_path}/tried\necho "$2 is a dead end"\nexit 1'),
        ("sleep", ""),
        *((name, "cat >/dev/null") for name in ("cc", "strace", "chromium", "nginx", "systemd-analyze")),
        *((name, "") for name in ("initdb", "pg_ctl", "postgres", "pg_dump", "pg_restore", "readlink")),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    script.write_text(script.read_text().replace("/nowhere/postgresql/*/bin", str(tools)))

    done = _packages(tools, script)

    assert done.returncode == 1
    assert (tmp_path / "tried").read_text() == "once more\n" * 4
    *_, said, last = done.stderr.splitlines()
    assert said == "--prefix is a dead end"
    assert re.fullmatch(
        r"setup: missing: @modelcontextprotocol/client@\S+ .* conventional-commits-parser@\S+ .*"
        r"\(npm says above why they could not be installed; then: tools/setup packages\)",
        last,
    )
