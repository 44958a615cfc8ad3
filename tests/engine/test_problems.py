from handrail.engine.problems import Place, Severity, build_error, build_warning, sort_problems


def test_an_error_must_be_mended_and_a_warning_may_be() -> None:
    place = Place("a.yaml", 1, 2, 3)
    one = build_error("code", place, "message", "repair", ("row",))
    two = build_warning("code", place, "message", "repair", ("row",))
    assert (one.severity, two.severity) == (Severity.ERROR, Severity.WARNING)
    for problem in (one, two):
        assert (problem.code, problem.place, problem.message) == ("code", place, "message")
        assert (problem.repair, problem.path) == ("repair", ("row",))


def test_problems_stand_in_reading_order() -> None:
    found = [
        build_error("b", Place("b.yaml", 1, 1), "last"),
        build_error("a", Place("a.yaml", 10, 1), "later line"),
        build_warning("b", Place("a.yaml", 2, 7), "second code"),
        build_error("a", Place("a.yaml", 2, 7), "b"),
        build_error("a", Place("a.yaml", 2, 7), "a"),
        build_error("z", Place("a.yaml", 2, 3), "first"),
    ]
    assert [problem.message for problem in sort_problems(found)] == [
        "first",
        "a",
        "b",
        "second code",
        "later line",
        "last",
    ]
