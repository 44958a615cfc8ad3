"""The texts of a workflow: parts, placeholders, and the places of what is wrong in them."""

import pytest

from handrail.workflows.load import WorkflowSource, load_workflow
from helpers.workflow_files import list_problems, load_sound_workflow, load_text

HEAD = (
    "workflow: w\nversion: 1\nauthority: files\nstates:\n  A:\n  Z: {terminal: true}\n"
    "transitions:\n  - {id: A1, from: A, trigger: go, to: Z, say: T}\n"
)


def test_a_text_has_one_part_or_several_and_knows_its_names() -> None:
    texts = load_sound_workflow("everything.yaml").texts

    assert texts["written"].parts == {"text": "Written."}
    assert texts["moved"].parts == {
        "user": "{{marked.checked|bullets}} and {{marked.unmatched|count}} more.\n",
        "agent": "{{run.vars.anything|json}} {{task.name|path}} {{run.vars.title|fence}}",
    }
    assert texts["moved"].names == (
        "marked.checked",
        "marked.unmatched",
        "run.vars.anything",
        "task.name",
        "run.vars.title",
    )


def test_a_text_beside_the_workflow_is_a_text_of_it() -> None:
    report = load_sound_workflow("beside/workflow.yaml").texts["report"]

    assert report.names == ("task.name", "now")
    assert report.place.file == "report.md"


@pytest.mark.parametrize(
    "body",
    [
        'a: {"b": {"c": 1}}',
        "function() { if (x) { y(); }}",
        "${HOME} {x} }} }",
        "on",
        "no",
    ],
)
def test_braces_that_are_not_meant_as_a_placeholder_stay(body: str) -> None:
    assert load_text(HEAD + f"texts:\n  T: |-\n    {body}\n").texts["T"].parts == {"text": body}


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        ("  T: Hello {{nobody}}", "unknown-placeholder", 12),
        ("  T: 'Hello {{nobody}}'", "unknown-placeholder", 13),
        ('  T: "Hello {{nobody}}"', "unknown-placeholder", 13),
        ('  T: "Höllo 🎉 {{nobody}}"', "unknown-placeholder", 15),
        ("  T: Hello {{plan.exists|nothing}}", "unknown-filter", 12),
        ("  T: Hello {{plan.exists|}}", "bad-placeholder", 12),
        ("  T: Hello {{}}", "bad-placeholder", 12),
        ("  T: Hello {{plan.exists", "bad-placeholder", 12),
        ("  T: Hello {plan.exists}}", "bad-placeholder", 12),
        ("  T: Hello {{ nobody | json }}", "unknown-placeholder", 12),
        ("  T: {a: Fine, b: 'Hello {{nobody}}'}", "unknown-placeholder", 26),
    ],
)
def test_what_cannot_be_put_in_is_shown_where_it_stands(line: str, code: str, column: int) -> None:
    assert list_problems(f"{HEAD}texts:\n{line}\n") == [(code, 10, column)]


def test_a_placeholder_on_a_later_line_of_a_block_is_shown_there() -> None:
    assert list_problems(HEAD + "texts:\n  T: |\n    one\n\n      two {{nobody}}\n") == [
        ("unknown-placeholder", 13, 11)
    ]


def test_in_a_text_that_is_folded_or_escaped_the_whole_is_shown() -> None:
    assert list_problems(HEAD + "texts:\n  T: >\n    one\n    {{nobody}}\n") == [
        ("unknown-placeholder", 10, 6)
    ]
    assert list_problems(HEAD + 'texts:\n  T: "a\\tb {{nobody}}"\n') == [("unknown-placeholder", 10, 6)]


def test_the_same_missing_name_of_a_text_is_told_once() -> None:
    again = "  - {id: A2, from: A, trigger: on, to: Z, say: T}\ntexts:\n  T: '{{nobody}} and {{nobody}}'\n"

    assert list_problems(HEAD + again) == [("unknown-placeholder", 11, 7)]


def test_a_name_of_a_text_may_be_known_to_one_row_and_not_to_another() -> None:
    again = "  - {id: A2, from: A, trigger: on, to: Z, draft: {d: criteria.check_off}, say: T}\n"

    assert list_problems(HEAD + again + "texts: {T: '{{d.ok}}'}\n") == [("unknown-placeholder", 10, 13)]


def test_a_problem_in_a_text_beside_is_shown_in_its_own_file() -> None:
    source = WorkflowSource("f.yaml", HEAD, {"T": ("T.md", "# Title\n\nHello {{nobody}}\n")})
    (problem,) = load_workflow(source).problems

    assert (problem.place.file, problem.place.line, problem.place.column) == ("T.md", 3, 7)
    assert problem.place.length == 10
    assert problem.message == "text `T`, used by row `A1`: there is nothing to put in for `nobody`"


def test_a_text_that_no_row_says_is_read_all_the_same() -> None:
    assert list_problems(HEAD + "texts: {T: Hello, U: 'bad {{x'}\n") == [("bad-placeholder", 9, 27)]


def test_where_files_were_archived_is_told_by_a_row_that_archives_and_by_no_other() -> None:
    archives = HEAD.replace("to: Z,", 'to: Z, do: [{archive: task.md, to: "old-{now}"}],')
    text = "texts:\n  T: Moved to {{archived|path}}.\n"

    assert load_text(archives + text).texts["T"].names == ("archived",)
    assert list_problems(HEAD + text) == [("unknown-placeholder", 10, 15)]
