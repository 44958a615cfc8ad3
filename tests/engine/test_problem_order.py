from handrail.engine.problems import Place, Severity, error, in_reading_order, warning


def test_an_error_must_be_mended_and_a_warning_may_be() -> None:
    place = Place("a.yaml", 1, 2, 3)
    one = error("code", place, "message", "repair", ("row",))
    two = warning("code", place, "message", "repair", ("row",))
    assert (one.severity, two.severity) == (Severity.ERROR, Severity.WARNING)
    for problem in (one, two):
        assert (problem.code, problem.place, problem.message) == ("code", place, "message")
        assert (problem.repair, problem.path) == ("repair", ("row",))


def test_problems_stand_in_reading_order() -> None:
    found = [
        error("b", Place("b.yaml", 1, 1), "last"),
        error("a", Place("a.yaml", 10, 1), "later line"),
        warning("b", Place("a.yaml", 2, 7), "second code"),
        error("a", Place("a.yaml", 2, 7), "b"),
        error("a", Place("a.yaml", 2, 7), "a"),
        error("z", Place("a.yaml", 2, 3), "first"),
    ]
    assert [problem.message for problem in in_reading_order(found)] == [
        "first",
        "a",
        "b",
        "second code",
        "later line",
        "last",
    ]
