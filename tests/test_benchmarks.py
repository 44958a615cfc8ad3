import pytest

import bench_start
from requirement import requirement


@requirement("steps:fig.start")
def test_the_start_of_a_server_is_measured_against_a_bare_one(capsys: pytest.CaptureFixture[str]) -> None:
    bench_start.main(rounds=1)

    name, value, goal, _ = capsys.readouterr().out.split()
    assert (name, goal) == ("start_x_bare_mcpserver", "1.10")
    assert float(value) > 0
