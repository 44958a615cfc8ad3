"""The texts themselves: which can be kept, and what stands after a write."""

from typing import Final

from handrail.shell.faults import BadConfig, Fault, Overtaken, Unreadable
from handrail.shell.ports import Description

MOST: Final = 1024 * 1024
"""How many bytes a text may have."""

_SHOWN: Final = 60


def kept(text: str) -> str:
    """The text as it is kept, with a line break at its end. Raises `Unreadable` if it cannot be."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Unreadable("the text has half a character", "write it in Unicode") from error
    if "\0" in text:
        raise Unreadable("the text has a NUL character", "take it out")
    if size >= MOST:
        raise Unreadable(f"the text has {size} bytes, and {MOST} are too many", "make it shorter")
    return text if text.endswith("\n") or not text else f"{text}\n"


def overtaken(expected: Description | None, *found: Description) -> Overtaken:
    """The fault for what was found where another text was expected."""
    texts = tuple(one.text for one in found)
    before = expected.change if expected else ""
    moved = before and any(one.change != before for one in found)
    where = "the commit is another one now, and its text" if moved else "the text has changed: now it"
    shown = " and ".join(_shown(text) for text in texts)
    return Overtaken(
        f"{where} {shown}", "read what stands now, and send the change again on top of it", texts
    )


def judged(before: Description, text: str, now: Description, fault: Fault | None) -> Description:
    """What stands now, if it is the new text; otherwise raises the fault, or says who was faster.

    A program that found another text than the one before has not written, whatever stands.
    """
    late = isinstance(fault, Overtaken)
    if not late and now.text == text and now.change == (before.change or now.change):
        return now
    if now.version != before.version:
        raise overtaken(before, now) from fault
    if fault is None or late:
        raise BadConfig(
            "the program neither writes the text nor says why, so it does not say what it has",
            "look for aliases of your own in `jj config list revset-aliases` and `template-aliases` that have"
            " the names of built-in functions, and rename them",
        ) from fault
    raise fault


def unseen(fault: Fault, blind: Fault) -> Fault:
    """The fault of a write after which nothing can be read: it is not known what stands."""
    return type(fault)(
        f"{fault.message}; whether the text was written is not known: {blind.message}",
        f"{fault.repair}; {blind.repair}; then read what stands",
    )


def _shown(text: str) -> str:
    first, _, rest = text.partition("\n")
    if not first:
        return "is empty" if not rest else "begins with an empty line"
    return f"begins `{first[:_SHOWN]}`"
