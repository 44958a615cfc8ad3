from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest

from drawing.test_svg import HOSTILE, NS
from handrail.drawing.timeline import RefusedCall, TimelineLane, TimelineOptions, WaitBar
from handrail.engine.refusals import RefusalCode
from helpers.drawings import rows_of, timeline


def at(minute: float) -> datetime:
    return datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(minutes=minute)


def stretch(number: int, state: str, kind: str, began: float, ended: float) -> WaitBar:
    return WaitBar(number, state, kind, at(began), at(ended))


RUN = (
    stretch(1, "frame", "agent", 0, 4),
    stretch(1, "frame", "check", 4, 5),
    stretch(2, "agree", "person", 5, 9),
    WaitBar(3, "build", "pause", at(9), at(10), lasts=True),
)


def picture(
    stretches: tuple[WaitBar, ...], refused: tuple[RefusedCall, ...] = (), form: TimelineOptions | None = None
) -> ET.Element:
    return ET.XML(timeline("a run", stretches, refused, form))


def of_class(root: ET.Element, word: str) -> list[ET.Element]:
    return [one for one in root.iter() if word in one.get("class", "").split()]


def titles(root: ET.Element, word: str) -> list[str | None]:
    return [one.findtext(f"{NS}title") for one in of_class(root, word)]


def test_no_day_is_written_over_the_one_before() -> None:
    run = (WaitBar(1, "late", "agent", at(900 - 14), at(900 + 46)),)

    days = of_class(picture(run, form=TimelineOptions(width=360)), "day")

    assert [one.text for one in days] == ["2026-03-02", "2026-03-03"]
    first, second = (float(one.get("x", "")) for one in days)
    assert [one.get("class") for one in days] == ["day first", "day first"]
    assert second - first >= 66


# --- rows ---------------------------------------------------------------------------------------------------


def test_a_step_is_a_row() -> None:
    assert rows_of(RUN) == (
        TimelineLane("1 frame", "step=1", RUN[:2]),
        TimelineLane("2 agree", "step=2", RUN[2:3]),
        TimelineLane("3 build", "step=3", RUN[3:]),
    )


def test_with_too_many_steps_a_row_is_a_state() -> None:
    run = tuple(stretch(n, f"s{n % 2}", "agent", n, n + 1) for n in range(1, 5))
    assert [(row.text, row.link, len(row.stretches)) for row in rows_of(run, 3)] == [
        ("s1 (2 times)", "state=s1", 2),
        ("s0 (2 times)", "state=s0", 2),
    ]


def test_with_too_many_states_the_shortest_share_a_row() -> None:
    run = tuple(stretch(n, f"s{n}", "agent", n * 10, n * 10 + n) for n in range(1, 6))
    assert [(row.text, row.link, [one.state for one in row.stretches]) for row in rows_of(run, 3)] == [
        ("s4", "state=s4", ["s4"]),
        ("s5", "state=s5", ["s5"]),
        ("3 other states", "", ["s1", "s2", "s3"]),
    ]


# --- the picture --------------------------------------------------------------------------------------------


def test_a_timeline_is_told_in_words_too() -> None:
    root = picture(RUN, (RefusedCall(at(2), "frame", RefusalCode.NOT_ACCEPTED),))
    assert (root.get("role"), root.findtext(f"{NS}title")) == ("img", "a run")
    assert root.findtext(f"{NS}desc") == (
        "3 steps. It waited 4 min for the agent. It waited 4 min for a person. It waited 1 min for a check. "
        "It waited 1 min for the run to be resumed. 1 call was refused."
    )


def test_a_run_without_steps_is_an_empty_timeline() -> None:
    root = picture(
        (), (RefusedCall(at(1), "", RefusalCode.NOT_RUNNING), RefusedCall(at(2), "", RefusalCode.NOT_RUNNING))
    )
    assert root.findtext(f"{NS}desc") == "0 steps. 2 calls were refused."
    assert of_class(root, "row") == []
    assert picture(()).findtext(f"{NS}desc") == "0 steps."


def test_every_stretch_is_a_bar_that_says_who_was_waited_for_and_when() -> None:
    root = picture(RUN)
    assert [one.get("class") for one in of_class(root, "bar")][:4] == [
        "bar agent",
        "bar check",
        "bar person",
        "bar pause lasts",
    ]
    assert titles(root, "bar")[:4] == [
        "frame: waited for the agent, 4 min\n2026-03-02 09:00:00 to 2026-03-02 09:04:00 UTC",
        "frame: waited for a check, 1 min\n2026-03-02 09:04:00 to 2026-03-02 09:05:00 UTC",
        "agree: waited for a person, 4 min\n2026-03-02 09:05:00 to 2026-03-02 09:09:00 UTC",
        "build: waited for the run to be resumed, 1 min\n2026-03-02 09:09:00 to now UTC",
    ]


def test_bars_stand_where_their_time_is() -> None:
    spans = of_class(picture(RUN, form=TimelineOptions(width=1234)), "span")
    assert [(span.get("x"), span.get("width"), span.get("y")) for span in spans[:4]] == [
        ("222", "400", "45"),
        ("622", "100", "45"),
        ("722", "400", "69"),
        ("1122", "100", "98"),
    ]


def test_the_legend_shows_every_kind_and_breaks_on_a_phone() -> None:
    for width, heights in ((960.0, 1), (360.0, 2)):
        (legend,) = of_class(picture(RUN, form=TimelineOptions(width=width)), "legend")
        texts = list(legend.iter(f"{NS}text"))
        assert [text.text for text in texts] == ["agent", "person", "check", "paused", "refused"]
        assert len({text.get("y") for text in texts}) == heights


def test_on_a_phone_names_stand_above_the_bars_and_nothing_is_wider_than_the_page() -> None:
    root = picture(RUN, form=TimelineOptions(width=360))
    names, spans = of_class(root, "name"), of_class(root, "span")
    assert [(name.get("x"), name.get("y")) for name in names] == [("12", "53"), ("12", "89"), ("12", "125")]
    assert spans[0].get("x") == "12"
    assert all(float(s.get("x", "0")) + float(s.get("width", "0")) <= 348.1 for s in spans)
    assert (root.get("width"), root.get("height")) == ("360", "202")


def test_long_names_are_cut_where_their_room_ends_and_told_in_full_on_demand() -> None:
    root = picture((stretch(1, "a-state-with-a-very-long-name-indeed", "agent", 0, 1),))
    assert [name.text for name in of_class(root, "name")] == ["1 a-state-with-a-very-long…"]
    assert titles(root, "row") == ["1 a-state-with-a-very-long-name-indeed: 1 min"]


def test_a_night_is_torn_out_with_how_long_it_was_unless_the_axis_is_linear() -> None:
    run = (
        stretch(1, "a", "agent", 0, 5),
        stretch(1, "a", "agent", 905, 910),
        stretch(2, "b", "agent", 910, 915),
    )
    root = picture(run)
    assert titles(root, "break") == ["15 h in which nothing happened"]
    assert [one.findtext(f"{NS}text") for one in of_class(root, "break")] == ["15 h"]
    assert of_class(picture(run, form=TimelineOptions(linear=True)), "break") == []


def test_many_nights_are_torn_out_without_words() -> None:
    days = [
        stretch(1, "a", "agent", day * 1440 + part, day * 1440 + part + 1)
        for day in range(40)
        for part in (0, 1)
    ]
    torn = of_class(picture(tuple(days), form=TimelineOptions(width=600)), "break")
    assert len(torn) == 39
    assert {one.findtext(f"{NS}text") for one in torn} == {None}


def test_stretches_that_cannot_be_told_apart_are_one_bar() -> None:
    run = tuple(stretch(1, "a", "agent", n / 100, n / 100 + 0.005) for n in range(3))
    root = picture((*run, stretch(1, "a", "agent", 300, 600)), form=TimelineOptions(linear=True))
    assert titles(root, "bar")[:2] == [
        "a: waited for the agent, 900 ms in 3 stretches\n2026-03-02 09:00:00 to 2026-03-02 09:00:01 UTC",
        "a: waited for the agent, 5 h\n2026-03-02 14:00:00 to 2026-03-02 19:00:00 UTC",
    ]
    assert [one.get("class") for one in of_class(root, "bar")][:2] == ["bar agent thin", "bar agent"]


def test_refusals_are_flags_on_the_row_of_their_state_or_of_their_time() -> None:
    refused = (
        RefusedCall(at(1), "frame", RefusalCode.NOT_ACCEPTED),
        RefusedCall(at(1.001), "frame", RefusalCode.NOT_ACCEPTED),
        RefusedCall(at(1.002), "frame", "expired"),
        RefusedCall(at(7), "frame", "forged"),
        RefusedCall(at(-1), "frame", "malformed"),
    )
    rows = of_class(picture(RUN, refused), "row")
    assert [titles(row, "refused") for row in rows] == [
        ["refused: malformed", "refused 2 times: not_accepted\nrefused: expired"],
        ["refused: forged"],
        [],
    ]


def test_a_flag_for_many_codes_names_some() -> None:
    refused = tuple(RefusedCall(at(1), "frame", f"code-{number}") for number in range(7))
    (flag, _) = of_class(picture(RUN, refused), "refused")
    assert (flag.findtext(f"{NS}title") or "").splitlines()[-2:] == ["refused: code-4", "and 2 more"]


def test_with_links_every_row_but_the_shared_one_is_a_link() -> None:
    root = picture(RUN, form=TimelineOptions(links=True))
    assert [a.get("href") for a in root.iter(f"{NS}a")] == ["#step=1", "#step=2", "#step=3"]
    assert root.get("role") == "group"
    many = tuple(stretch(n, f"s {n}", "agent", n, n + 1) for n in range(1, 62))
    links = [a.get("href") for a in picture(many, form=TimelineOptions(links=True)).iter(f"{NS}a")]
    assert (len(links), links[0]) == (59, "#state=s%201")


def test_embedded_a_timeline_has_no_style_at_all() -> None:
    root = picture(RUN, form=TimelineOptions(standalone=False))
    assert not list(root.iter(f"{NS}style"))
    assert not [element for element in root.iter() if "style" in element.attrib or "id" in element.attrib]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    many = tuple(stretch(n, f"{name}{n % 3}", "agent", n, n + 1) for n in range(1, 70))
    for run in (RUN[:1], (stretch(1, name, "agent", 0, 1),), many):
        root = ET.XML(timeline(name, run, (RefusedCall(at(0), name, name),), TimelineOptions(links=True)))
        kinds = {element.tag.removeprefix(NS) for element in root.iter()}
        assert kinds <= {"svg", "title", "desc", "style", "rect", "g", "a", "path", "text"}
        assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]


def test_a_thousand_steps_are_few_rows_and_no_more_bars_than_can_be_seen() -> None:
    run = tuple(stretch(n, f"s{n % 34}", "agent", n * 3, n * 3 + 2) for n in range(1000))
    refused = tuple(RefusedCall(at(n * 3 + 1), f"s{n % 34}", RefusalCode.NOT_ACCEPTED) for n in range(1000))
    text = timeline("long", run, refused)
    root = ET.XML(text)
    assert len(of_class(root, "row")) == 34
    assert len(of_class(root, "span")) <= 1004
    assert len(text) < 700_000
    dense = tuple(stretch(n, f"s{n % 2}", "agent", n * 3, n * 3 + 2) for n in range(4000))
    assert len(of_class(ET.XML(timeline("dense", dense)), "span")) < 10
