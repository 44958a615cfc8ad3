"""Arguments: nothing is coerced, and what is none of the forms is refused with the forms, and entered."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, Final

import pytest

from handrail.app.faces import ArgumentCheck, StepsStatus
from handrail.engine.refusals import RefusalCode
from helpers.agents import NOBODY
from helpers.replies import find_broken_reply_rules
from helpers.requirement import requirement
from helpers.servers import ERAS, TOOL, InProcessClient, Pipe, Place, build_note_output
from helpers.store_contents import REFUSED, list_changes, read_store_contents

FORMS: Final = [
    'start: {"template_name", "goal"?, "inputs"?, "metadata"?, "project"?}',
    'continue: {"step_token", "model_output_so_far"}',
    'recover: {"execution_id"}',
    (
        'control: {"execution_id" or "step_token", "action": pause|resume|diverge|abandon|fail|complete_step|'
        'fork|why, "reason"?, "step_name"? (fork), "model_output_so_far"? (complete_step)}'
    ),
]
SENT: Final[dict[str, Any]] = {
    "template_name": "walk",
    "goal": "See the end",
    "inputs": {"what": "fun"},
    "metadata": {"ticket": "7"},
    "step_token": "no token",
    "model_output_so_far": build_note_output(),
    "execution_id": NOBODY,
    "action": "pause",
    "reason": "Because.",
    "step_name": "one",
    "project": "project",
}
"""Each argument, with something it takes."""

STARTS: Final = [{"template_name"}] + [
    {"template_name", other} for other in ("goal", "inputs", "metadata", "project")
]
OTHERS: Final = [
    {"execution_id"},
    {"execution_id", "project"},
    {"execution_id", "action"},
    {"step_token", "action"},
    {"step_token", "model_output_so_far"},
]
"""Every form among those with one or two arguments."""


@requirement("steps:tool.forms")
def test_of_all_sets_of_one_and_two_arguments_only_the_forms_are_taken(
    client: InProcessClient, at: Place, record_property: Callable[[str, object], None]
) -> None:
    tried = 0
    for names in [(), *combinations(SENT, 1), *combinations(SENT, 2)]:
        before = read_store_contents(at.store)
        answer = client.call({name: SENT[name] for name in names})
        tried += 1
        assert find_broken_reply_rules(answer) == []
        if set(names) in STARTS:
            assert answer.code == StepsStatus.OK, names
        elif set(names) in OTHERS:
            assert answer.code in {RefusalCode.UNKNOWN_RUN, RefusalCode.MALFORMED}, names
        else:
            assert answer.code == RefusalCode.FORM, names
            assert answer.reply["why"] == {
                "rule": "forms",
                "seen": [f"arguments = {_listed(names)}"],
                "needed": FORMS,
            }
            assert list_changes(before, read_store_contents(at.store)) == REFUSED
    assert tried == 1 + 11 + 55
    record_property("points", tried)


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in sorted(names)) + "]"


@requirement("steps:tool.forms")
@pytest.mark.parametrize(
    "names",
    [
        ("step_token", "model_output_so_far", "action", "execution_id"),
        ("step_token", "execution_id", "action"),
        ("step_token", "model_output_so_far", "reason"),
        ("step_token", "model_output_so_far", "action"),
        ("execution_id", "action", "step_name"),
        ("execution_id", "action", "model_output_so_far"),
        ("template_name", "goal", "inputs", "metadata", "execution_id"),
        tuple(SENT),
    ],
)
def test_a_form_with_an_argument_that_it_has_not_is_refused(
    client: InProcessClient, names: tuple[str, ...]
) -> None:
    assert client.call({name: SENT[name] for name in names}).code == RefusalCode.FORM


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"execution_id": NOBODY, "action": "fork", "step_name": "one"}, RefusalCode.UNKNOWN_RUN),
        (
            {"execution_id": NOBODY, "action": "complete_step", "model_output_so_far": {}},
            RefusalCode.UNKNOWN_RUN,
        ),
        ({"execution_id": NOBODY, "action": "fork", "model_output_so_far": {}}, RefusalCode.FORM),
        ({"execution_id": NOBODY, "action": "complete_step", "step_name": "one"}, RefusalCode.FORM),
        ({"execution_id": NOBODY, "action": "complete_step"}, RefusalCode.FORM),
        ({"execution_id": NOBODY, "action": "why", "reason": "Curious"}, RefusalCode.UNKNOWN_RUN),
    ],
)
def test_a_step_name_goes_with_a_fork_only_and_an_output_with_a_step_done_by_hand(
    client: InProcessClient, arguments: dict[str, Any], code: str
) -> None:
    assert client.call(arguments).code == code


ACTIONS: Final = "action: must be one of pause, resume, diverge, abandon, fail, complete_step, fork, why"
WRONG: Final[list[tuple[str, Any, str]]] = [
    ("template_name", 7, "template_name: must be of the JSON type string"),
    ("template_name", ["walk"], "template_name: must be of the JSON type string"),
    ("template_name", None, "template_name: must be of the JSON type string"),
    ("goal", True, "goal: must be of the JSON type string"),
    ("goal", "g" * 10_001, "goal: must be a text of at most 10000 characters"),
    ("goal", "a\0b", "goal: must be a text without NUL"),
    ("inputs", '{"what": "fun"}', "inputs: must be of the JSON type object"),
    ("inputs", [["what", "fun"]], "inputs: must be of the JSON type object"),
    ("inputs", {"what": None}, "inputs.what: must be of the JSON type boolean or number or string"),
    ("inputs", {"what": {"a": 1}}, "inputs.what: must be of the JSON type boolean or number or string"),
    ("metadata", {"ticket": 7}, "metadata.ticket: must be of the JSON type string"),
    ("metadata", "{}", "metadata: must be of the JSON type object"),
    ("action", "Pause", ACTIONS),
    ("action", "complete", ACTIONS),
    ("action", ["pause"], ACTIONS),
    ("step_token", 7, "step_token: must be of the JSON type string"),
    ("execution_id", 7, "execution_id: must be of the JSON type string"),
    ("execution_id", {"id": NOBODY}, "execution_id: must be of the JSON type string"),
    ("reason", ["Because."], "reason: must be of the JSON type string"),
    ("model_output_so_far", "{}", "model_output_so_far: must be of the JSON type object"),
    ("model_output_so_far", None, "model_output_so_far: must be of the JSON type object"),
    ("model_output_so_far", [build_note_output()], "model_output_so_far: must be of the JSON type object"),
    ("Template_Name", "walk", "Template_Name: must be left out: there is no such argument"),
    ("arguments", {}, "arguments: must be left out: there is no such argument"),
    ("__proto__", {}, "__proto__: must be left out: there is no such argument"),
]


@requirement("steps:tool.forms")
@pytest.mark.parametrize(("name", "value", "needed"), WRONG)
def test_an_argument_that_is_not_as_listed_is_refused_by_name(
    client: InProcessClient, at: Place, name: str, value: object, needed: str
) -> None:
    before = read_store_contents(at.store)
    answer = client.call({"template_name": "walk", name: value})

    assert find_broken_reply_rules(answer) == []
    assert (answer.code, answer.reply["why"]["rule"]) == (RefusalCode.ARGUMENTS, "arguments")
    assert answer.reply["why"]["needed"] == [needed]
    assert list_changes(before, read_store_contents(at.store)) == REFUSED


def test_a_refusal_does_not_repeat_a_token_or_an_output(client: InProcessClient) -> None:
    answer = client.call({"step_token": ["secret"], "model_output_so_far": ["secret"]})

    assert answer.reply["why"]["seen"] == ['step_token = "<list>"', 'model_output_so_far = "<list>"']
    assert "secret" not in answer.text


@requirement("steps:output.shape")
@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"confidence": "0.9"}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"confidence": None}, "confidence"),
        ({"summary": ["Done."]}, "summary"),
        ({"artifacts": '[{"type": "note"}]'}, "artifacts"),
        ({"artifacts": {"type": "note"}}, "artifacts"),
        ({"artifacts": [{"type": "note", "title": "A", "content": 7}]}, "artifacts[0].content"),
        ({"artifacts": [{"title": "A", "content": "It is noted."}]}, "artifacts[0].type"),
        ({"artifacts": [[]]}, "artifacts[0]"),
        ({"artifacts": ["note"]}, "artifacts[0]"),
        ({"references": "none"}, "references"),
        ({"references": [1]}, "references"),
        ({"decisions": "none"}, "decisions"),
        ({"findings": {}}, "findings"),
        ({"blockers": False}, "blockers"),
    ],
)
def test_an_output_is_not_coerced_either(client: InProcessClient, changes: dict[str, Any], path: str) -> None:
    first = client.start()
    answer = client.continue_run(first.token, **changes)

    assert find_broken_reply_rules(answer) == []
    assert answer.code == RefusalCode.CONTRACT
    assert [line.partition(" ")[0] for line in answer.reply["why"]["needed"]] == [path]
    assert client.continue_run(first.token).code == StepsStatus.OK


def test_inputs_are_of_their_declared_type_and_no_other(client: InProcessClient) -> None:
    for value in (7, True, 1.5):
        assert client.start(inputs={"what": value}).code == RefusalCode.ARGUMENTS
    answer = client.start(inputs={"when": "now"})

    assert (answer.code, answer.reply["why"]["rule"]) == (RefusalCode.ARGUMENTS, "start")


@pytest.mark.parametrize("depth", [30, 31, 32, 33, 400])
def test_what_nests_deeply_is_checked_like_everything_else(client: InProcessClient, depth: int) -> None:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    answer = client.call({"template_name": "walk", "metadata": {"ticket": value}})

    assert (answer.code, find_broken_reply_rules(answer)) == (RefusalCode.ARGUMENTS, [])


def test_an_argument_whose_name_cannot_be_written_down_is_refused_in_words(client: InProcessClient) -> None:
    answer = client.call({"template_name": "walk", "\ud800": 1, "a\0b": "\udfff"})

    assert (answer.code, find_broken_reply_rules(answer)) == (RefusalCode.ARGUMENTS, [])
    assert answer.text.encode().decode() == answer.text


def test_other_schema_errors_keep_their_own_words() -> None:
    schema = {"properties": {"goal": {"type": "string", "minLength": 3}}, "required": ["goal"]}
    arguments = ArgumentCheck(schema)

    for given, needed in (({"goal": "no"}, "goal: is shorter than 3 characters"), ({"goal": "yes"}, "")):
        refused = arguments.validate(given)
        assert (refused.needed if refused else ("",)) == (needed,)


@pytest.mark.parametrize("era", ERAS)
def test_a_real_server_coerces_nothing_and_drops_nothing(at: Place, era: str) -> None:
    with Pipe(at, era=era) as pipe:
        for name, value, needed in WRONG:
            reply = pipe.call({"template_name": "walk", name: value})
            assert (reply.code, reply.reply["why"]["needed"]) == (RefusalCode.ARGUMENTS, [needed])
            assert find_broken_reply_rules(reply) == []
        no_objects: tuple[object, ...] = ([], "{}", 7, True)
        for arguments in no_objects:
            answer = pipe.ask("tools/call", {"name": TOOL, "arguments": arguments})
            assert answer["error"]["code"] == -32602
        missing = pipe.ask("tools/call", {"name": TOOL})
        assert missing["result"]["structuredContent"]["code"] == RefusalCode.FORM
        assert pipe.start("walk").code == StepsStatus.OK
