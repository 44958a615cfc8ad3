"""Which dialect a text is of, and plans of one dialect as plans of the other."""

import pytest

from handrail import plans
from handrail.documents.plan.convert import Conversion, convert_plan
from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, Dialect
from handrail.documents.plan.model import Plan, PlanRefusal, PlanState
from handrail.documents.plan.parse import DIALECT_CONFIGS, parse_any, parse_plan

PLANNER, IN_COMMITS = Dialect.PLANNER, Dialect.COMMITS


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("feat(x): t\n\nConstraints:\n- Never: x", IN_COMMITS),
        ("feat(x): t\r\n\r\nConstraints: none\r\n", IN_COMMITS),
        ("feat(x): t\n\nTasks [ ]:\n- [ ] a: b", IN_COMMITS),
        ("feat(x): t\n\nTasks [X]:\n", IN_COMMITS),
        ("feat(x): t\n\n  - [x]: a", PLANNER),
        ("feat(x): t\n\n- [ ] a: b", None),
        ("feat(x): t", None),
    ],
)
def test_a_section_or_a_task_tells_the_dialect(text: str, dialect: Dialect | None) -> None:
    for default in Dialect:
        wanted = dialect or default
        plan, config = parse_any(text, default)
        assert config is DIALECT_CONFIGS[wanted]
        assert plan == parse_plan(text, config)


@pytest.mark.parametrize("tail", ["\nmore", ""])
def test_a_text_of_both_dialects_is_halted(tail: str) -> None:
    plan, config = parse_any("feat(x): t\n\n- [ ]: a\n\nConstraints: none" + tail)

    assert (plan, config) == (Plan(PlanState.HALTED), COMMITS)
    assert [(one.code, one.line) for one in plan.problems] == [("mixed_dialects", 5)]
    assert plan.problems[0].message == "line 3 is of one dialect, and this line of the other"


def test_changed_files_are_asked_for_in_commits_only() -> None:
    assert parse_any("", IN_COMMITS, has_modifications=True)[0].problems
    assert not parse_any("", PLANNER, has_modifications=True)[0].problems


def _converted(text: str, source: Dialect) -> tuple[str, list[tuple[str, str]]]:
    target = IN_COMMITS if source is PLANNER else PLANNER
    done = convert_plan(parse_plan(text, DIALECT_CONFIGS[source]), source, target)
    assert isinstance(done, Conversion), done
    written = format_plan(done.plan, DIALECT_CONFIGS[target])
    assert isinstance(written, str)
    assert all(note.message for note in done.notes)
    return written, [(note.code, note.text) for note in done.notes]


def test_what_both_dialects_can_say_is_carried_over_both_ways() -> None:
    planner = "feat(x)!: t\n\nd\n\n- Never: x\n\n- [x]: a: b\n  - [x]: c: d\n\n~~~ COMPLETE ~~~\n"
    commits = "feat(x)!: t\n\nd\n\nConstraints:\n- Never: x\n\nTasks [X]:\n- [x] a: b\n  - [x] c: d\n"

    assert _converted(planner, PLANNER) == (commits, [])
    assert _converted(commits, IN_COMMITS) == (planner, [])


def test_what_commits_cannot_say_goes_into_the_description_and_is_told() -> None:
    text = (
        "spec(A_b): t\n\nwhy\nTasks [here]\n- Bad: Line\n- Must: x\n- Never: y\n"
        "- [x]: a\n  - [ ]: b: c\n- [ ]: a: z\n- [ ]: !\n- [ ]: : x\n- [ ]: g: h\n"
        "  - [x]: i: j\n\nGo on\n\nand on\n~~~ EXECUTE ~~~"
    )

    written = (
        "chore(a-b): t\n\nwhy\n* Tasks [here]\n\n* Must: x\n* Bad: Line\n* Go on\n* and on\n\n"
        "Constraints:\n- Never: y\n\nTasks [ ]:\n- [ ] a: a\n  - [ ] b: c\n- [ ] a 2: z\n- [ ] task: !\n"
        "- [ ] task 2: : x\n- [x] g: h\n  - [x] i: j\n"
    )
    assert _converted(text, PLANNER) == (
        written,
        [
            ("type_changed", "spec"),
            ("scope_changed", "A_b"),
            ("constraint_in_description", "Must: x"),
            ("skipped_in_description", "- Bad: Line"),
            ("details_repeated", "a"),
            ("summary_changed", "a"),
            ("summary_changed", "!"),
            ("summary_changed", ": x"),
            ("summary_changed", "task"),
            ("task_opened", "a"),
            ("task_ticked", "g"),
            ("direction_in_description", "Go on"),
            ("direction_in_description", "and on"),
            ("description_bulleted", "Tasks [here]"),
        ],
    )


def test_a_plan_without_tasks_is_not_finished_in_commits() -> None:
    assert _converted("feat(x): t\n\n- Never: x\n\nCOMPLETE", PLANNER) == (
        "feat(x): t\n\nConstraints:\n- Never: x\n",
        [],
    )


def test_an_ignored_title_becomes_the_summary_and_a_scope_without_letters_goes() -> None:
    assert _converted("feat: t", PLANNER) == ("feat: t\n", [])
    assert _converted("feat(1): t", PLANNER) == ("feat: t\n", [("scope_changed", "1")])


def test_tasks_that_are_too_deep_stand_higher() -> None:
    text = "feat(x): t\n\n" + "".join(f"{'  ' * n}- [ ]: {n}: a\n" for n in range(5))

    written, notes = _converted(text, PLANNER)
    assert written.endswith("    - [ ] 2: a\n      - [ ] 3: a\n      - [ ] 4: a\n")
    assert notes == [("level_raised", "4: a")]


def test_a_number_that_is_taken_is_passed_over() -> None:
    written, notes = _converted("feat(x): t\n\n- [ ]: a: 1\n- [ ]: a 2: 2\n- [ ]: a: 3\n- [ ]: a: 4", PLANNER)

    assert written == "feat(x): t\n\nTasks [ ]:\n- [ ] a: 1\n- [ ] a 2: 2\n- [ ] a 3: 3\n- [ ] a 4: 4\n"
    assert notes == [("summary_changed", "a")] * 2


def test_what_planner_cannot_say_is_kept_and_told() -> None:
    text = (
        "ci!: t\n\nwhy\n- Key: Value\n\nConstraints:\n- Never: Shout\n- Never: 1 thing\n\n"
        "Tasks [ ]:\n- [ ] a: b\n  - [x] c: d"
    )

    written = (
        "chore: t\n\nwhy\n* Key: Value\n\n* BREAKING CHANGE\n* Never: 1 thing\n\n- Never: shout\n\n"
        "- [x]: a: b\n  - [x]: c: d\n"
    )
    assert _converted(text, IN_COMMITS) == (
        written,
        [
            ("type_changed", "ci"),
            ("title_unread", "t"),
            ("breaking_lost", "BREAKING CHANGE"),
            ("constraint_lowercased", "Never: Shout"),
            ("constraint_in_description", "Never: 1 thing"),
            ("description_bulleted", "- Key: Value"),
        ],
    )


def test_a_summary_without_a_scope_is_kept_behind_the_colon() -> None:
    assert _converted("feat: t", IN_COMMITS) == ("feat: t\n", [("title_unread", "t")])


def test_that_there_are_no_constraints_is_told_and_not_written() -> None:
    assert _converted("feat(x): t\n\nConstraints: none", IN_COMMITS) == (
        "feat(x): t\n",
        [("constraints_undecided", "Constraints: none")],
    )


def test_what_cannot_be_converted_is_refused() -> None:
    refused = convert_plan(parse_plan("feat(x):"), PLANNER, IN_COMMITS)
    assert isinstance(refused, PlanRefusal)
    assert [(one.field, one.code) for one in refused.findings] == [("header.summary", "TOO_SMALL")]
    refused = convert_plan(parse_plan("hello"), PLANNER, IN_COMMITS)
    assert isinstance(refused, PlanRefusal)
    assert [one.code for one in refused.problems] == ["plan_unread", "header_malformed"]


def test_a_plan_of_the_same_dialect_stays_as_it_is() -> None:
    plan = parse_plan("feat(x): t")

    assert convert_plan(plan, PLANNER, PLANNER) == Conversion(plan, ())
    assert DIALECT_CONFIGS == {PLANNER: COMMIT_MESSAGE, IN_COMMITS: COMMITS}


def test_the_python_api_has_the_dialects_that_convert_takes() -> None:
    done = plans.convert(plans.parse("feat(x): t"), plans.Dialect.PLANNER, plans.Dialect.COMMITS)

    assert isinstance(done, Conversion)
    assert plans.format_plan(done.plan, plans.COMMITS) == "feat(x): t\n"
