"""What follows from the measures."""

from handrail.engine.model import Lifecycle
from handrail.telemetry.measures import Endings, RunsMeasured, endings


def test_the_endings_of_each_workflow_are_told_by_name() -> None:
    measured = (
        RunsMeasured("b", Lifecycle.RUNNING, 2, 0),
        RunsMeasured("a", Lifecycle.COMPLETED, 3, 600),
        RunsMeasured("a", Lifecycle.ABANDONED, 1, 50),
        RunsMeasured("a", Lifecycle.FAILED, 1, 9),
    )
    assert endings(measured) == (
        Endings("a", 5, 3, 1, 200.0, 50.0),
        Endings("b", 2, 0, 0, None, None),
    )


def test_nothing_measured_has_no_endings() -> None:
    assert endings(()) == ()
