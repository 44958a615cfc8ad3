from pathlib import Path

from program import handrail


def test_the_demo_shows_each_attempt_to_cheat_and_ends_completed(tmp_path: Path) -> None:
    said = handrail("demo", cwd=tmp_path)

    assert (said.status, said.err) == (0, "")
    refused = [line.split()[2] for line in said.out.splitlines() if "✘ refused" in line]
    assert refused == ["arguments", "no_row", "contract", "not_running"]
    assert "prove → mend" in said.out
    assert "The run is completed after 6 steps and 9 turns." in said.out


def test_the_demo_kills_the_server_and_takes_no_step_twice(tmp_path: Path) -> None:
    said = handrail("demo", cwd=tmp_path)

    killed = said.out.partition("killed (kill -9)")[2].splitlines()
    assert killed[1] == "   ✔ reproduce → diagnose"
    assert said.out.count("✔ reproduce → diagnose") == 1


def test_the_demo_reveals_one_step_at_a_time(tmp_path: Path) -> None:
    said = handrail("demo", cwd=tmp_path)

    before_first_move = said.out.partition("reproduce → diagnose")[0]
    assert "Find one command that fails because of this" in before_first_move
    assert "Find the first place where something is wrong" not in before_first_move


def test_a_project_cannot_break_the_demo_unnoticed(tmp_path: Path) -> None:
    folder = tmp_path / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "bug-fix.yaml").write_text("workflow: bug-fix\n")

    said = handrail("demo", cwd=tmp_path)

    assert said.status == 1
    assert "`bug-fix` cannot be loaded" in said.err
