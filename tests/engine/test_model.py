import pytest

from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Actor, Event, Lifecycle, Run, Step, Waiting
from handrail.stores.sql.rows import decode_run, encode_run
from helpers.workflows import (
    GATED,
    build_output,
    create_idle_run,
    load_valid_workflow,
    move_run,
    send_event,
    start_run,
)

PAYLOAD: dict[str, Value] = {"summary": "☂", "b": [1, 2.5, None, True], "a": {"y": 1, "x": 2}}
HELD = Event("continue", PAYLOAD, Actor.PERSON, "n", 2)
FULL = Run(
    "run-1",
    "flow",
    "0123",
    Lifecycle.PAUSED,
    (Step(1, "One", 1), Step(2, "Two", 3, HELD)),
    2,
    {"One": 1, "Two": 3},
    {"count": -(2**63), "share": 0.1, "name": "", "labels": ["b", "a"], "data": {"z": {}, "a": []}},
    {"goal": None},
    "because",
)


@pytest.mark.parametrize("run", [FULL, Run("r", "w", "d"), Run("", "", "", Lifecycle.FAILED, reason="\n\0")])
def test_a_run_that_is_read_back_is_equal(run: Run) -> None:
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize("lifecycle", list(Lifecycle))
def test_every_lifecycle_is_read_back(lifecycle: Lifecycle) -> None:
    assert decode_run(encode_run(Run("r", "w", "d", lifecycle))).lifecycle is lifecycle


def test_what_is_written_is_plain_json() -> None:
    assert encode_run(Run("r", "w", "d", Lifecycle.RUNNING, (Step(1, "One", 1),), 1, {"One": 1})) == (
        b'{"id":"r","workflow":"w","digest":"d","lifecycle":"running",'
        b'"open":[{"number":1,"state":"One","attempt":1,"held":null}],"steps":1,"attempts":{"One":1},'
        b'"vars":{},"inputs":{},"reason":""}'
    )


def in_order(names: list[str]) -> Run:
    inner: dict[str, Value] = dict.fromkeys(names, 1)
    outer: dict[str, Value] = dict.fromkeys(names, inner)
    step = Step(1, "S", 1, Event("continue", outer))
    return Run("r", "w", "d", Lifecycle.RUNNING, (step,), 1, dict.fromkeys(names, 1), outer, outer)


def test_equal_runs_give_the_same_bytes_whatever_the_order_of_their_parts() -> None:
    one, two = in_order(["a", "b", "c"]), in_order(["c", "a", "b"])
    assert one == two
    assert encode_run(one) == encode_run(two)


def test_a_run_goes_on_after_it_was_read_back_as_if_it_had_not_been() -> None:
    flow = load_valid_workflow(
        """
workflow: gated
version: 1
authority: sql
vars: {back: state?}
steps:
  - {name: mend, agent: a, task: Mend it, attempts: 3, next: [{when: tests.pass}]}
  - {name: prove, agent: a, task: Prove it}
""",
        GATED,
    )
    waiting = send_event(
        flow, decode_run(encode_run(start_run(flow))), "continue", {"tests.pass": PENDING}, **build_output()
    )
    assert isinstance(waiting, Waiting)
    back = decode_run(encode_run(waiting.run))
    assert back == waiting.run
    held = back.open[0].held
    assert held is not None
    again, straight = (move_run(flow, run, held, {"tests.pass": True}) for run in (back, waiting.run))
    assert again == straight
    assert encode_run(again) == encode_run(straight)
    assert decode_run(encode_run(create_idle_run(flow))) == create_idle_run(flow)


GOOD = b'{"id":"r","workflow":"w","digest":"d"%s}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"{}",
        b'"run"',
        b"\xff\xfe",
        b"\xef\xbb\xbf" + GOOD % b"",
        GOOD % b"" + b"x",
        (GOOD % b"")[:-1],
        b'{"id":"r"}',
        GOOD % b',"lifecycle":"gone"',
        GOOD % b',"lifecycle":"RUNNING"',
        GOOD % b',"open":{}',
        GOOD % b',"open":[{"number":1}]',
        GOOD % b',"open":[{"number":"1","state":"S","attempt":1}]',
        GOOD % b',"steps":1.5',
        GOOD % b',"attempts":{"S":null}',
        GOOD % b',"vars":[]',
        GOOD % b',"vars":{"a":NaN}',
        GOOD % b',"vars":{"a":1e999}',
        GOOD % b',"reason":"\\ud800"',
        GOOD % b',"reason":"\xff"',
        b"[" * 100_000,
        GOOD % (b',"vars":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ],
)
def test_bytes_that_are_no_run_are_a_value_error_and_nothing_else(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_run(data)


def test_every_cut_of_a_written_run_is_a_value_error() -> None:
    data = encode_run(FULL)
    for length in range(len(data)):
        with pytest.raises(ValueError, match=r"."):
            decode_run(data[:length])
