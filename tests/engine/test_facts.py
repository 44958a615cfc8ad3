import pytest

from handrail.engine.facts import (
    PENDING,
    Kind,
    Type,
    Value,
    find_value_flaws,
    has_type,
    is_valid_value,
    to_printable,
)


@pytest.mark.parametrize(
    ("written", "kind", "optional"), [("int", Kind.INT, False), ("strings?", Kind.STRINGS, True)]
)
def test_a_type_is_written_as_in_a_workflow(written: str, kind: Kind, *, optional: bool) -> None:
    assert str(Type(kind, optional)) == written


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Kind.BOOL, [True, False], [0, 1, "true", [], {}]),
        (Kind.INT, [0, -(2**63), 2**63 - 1], [True, 1.0, "1", 2**63, -(2**63) - 1]),
        (Kind.FLOAT, [0.5, 1, -3], [True, "1", float("nan"), float("inf"), float("-inf"), 2**63]),
        (Kind.STRING, ["", "a"], [1, ["a"], "\udfff", "a\0", b"a"]),
        (Kind.STATE, ["Home"], ["Gone", "", 1, ["Home"]]),
        (Kind.STRINGS, [[], ["a", ""]], ["a", ["a", 1], [None], ("a",), ["\ud800"]]),
        (Kind.JSON, [True, 1, 0.5, "a", [1], {"a": {}}], [object(), {1: 2}, (1,), [float("nan")], PENDING]),
    ],
)
def test_a_value_fits_its_kind_and_no_other(kind: Kind, good: list[Value], bad: list[Value]) -> None:
    states = {"Home": 1}
    assert [value for value in good if not has_type(value, Type(kind), states)] == []
    assert [value for value in bad if has_type(value, Type(kind), states)] == []


@pytest.mark.parametrize("kind", list(Kind))
def test_null_fits_where_the_type_is_optional(kind: Kind) -> None:
    assert has_type(None, Type(kind, optional=True), {})
    assert not has_type(None, Type(kind), {})
    assert not has_type(PENDING, Type(kind, optional=True))


def test_any_name_fits_a_state_where_the_states_are_not_given() -> None:
    assert has_type("Anything", Type(Kind.STATE))


def test_each_flaw_is_told_with_its_path() -> None:
    value = {"a": [1, {"b": float("nan")}, b""], "c": {"\ud800": 1}, "d": 2**64, "e": "fine", "f": "a\0b"}
    assert list(find_value_flaws(value)) == [
        (".a[1].b", "must be a finite number"),
        (".a[2]", "must be a JSON value"),
        (".c", "must have texts as keys"),
        (".d", "must be a number of at most 64 bits"),
        (".f", "must be a text without NUL"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        *(
            None,
            False,
            "",
            "ü",
            "\0",
            "\ud800",
            2**53,
            -(2**63),
            2**63,
            0.5,
            1e300,
            float("nan"),
            b"",
            PENDING,
        ),
        *([], [1, "ü"], [["\udfff"]], {}, {"a": {"ü": 1}}, {"\ud800": 1}, {1: 1}, {"a": 2**64}),
    ],
)
def test_a_value_is_sound_if_it_has_no_flaw(value: Value) -> None:
    assert is_valid_value(value) is not any(find_value_flaws(value))


def test_a_value_with_very_many_parts_is_sound_if_they_are() -> None:
    assert is_valid_value([["a"] * 20_000])
    assert not is_valid_value([["a"] * 20_000 + ["\0"]])


def test_a_list_that_holds_itself_twice_is_told_from_a_sound_one_at_once() -> None:
    value: list[Value] = []
    value += (value, value)
    assert not is_valid_value(value)


@pytest.mark.parametrize(("depth", "good"), [(31, True), (32, True), (33, False)])
def test_what_nests_too_deeply_is_not_sound(depth: int, good: bool) -> None:  # noqa: FBT001 - the value of a case
    listed: Value = 1
    named: Value = 1
    for _ in range(depth):
        listed, named = [listed], {"a": named}
    assert (is_valid_value(listed), is_valid_value(named)) == (good, good)
    assert (not any(find_value_flaws(listed)), not any(find_value_flaws(named))) == (good, good)


@pytest.mark.parametrize("value", [None, True, "a", 3, 0.5, [1, {"a": None}], PENDING])
def test_what_can_be_written_down_is_shown_as_it_is(value: Value) -> None:
    assert to_printable(value) is value


def test_what_cannot_be_written_down_is_shown_by_its_type() -> None:
    assert to_printable(float("inf")) == "<float that cannot be written down>"
    assert to_printable([object()]) == "<list that cannot be written down>"


def test_a_long_value_is_told_by_its_length_only() -> None:
    assert to_printable("x" * 498) == "x" * 498
    assert to_printable("x" * 499) == "<str of 501 bytes>"
    assert to_printable([{"content": "x" * 5_000}]) == "<list of 5017 bytes>"
