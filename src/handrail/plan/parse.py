"""Reading a plan document: one pass over its lines, by the rules of a configuration.

Every text gets a state. Where reading halts, the plan holds what was read until then, and the problem says
where it stands and how it is mended.
"""

import re
from typing import Final

from handrail.plan.commits import read_commits, title_too_long
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.lines import normalised
from handrail.plan.model import Header, Plan, State
from handrail.plan.planner import read_body
from handrail.plan.problems import Problem, Warned
from handrail.plan.rules import Rules, rules_of

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BREAKING: Final = re.compile(r"([a-z]+)!:.*")
_CRLF: Final = (Warned("crlf_normalised"),)
_COMMITS: Final = Dialect.COMMITS
_PARSED: Final = State.PARSED
_UNKNOWN: Final = State.UNKNOWN
_HEADER: Final = "type(scope): title"
_USUAL: Final = rules_of(COMMIT_MESSAGE)


def parse(text: str, config: Config = COMMIT_MESSAGE, *, has_modifications: bool = False) -> Plan:
    """What the text says; `has_modifications` if files were changed in the commit that it describes."""
    if len(text) > config.max_input_length or "\0" in text or not (text.isascii() or _encodable(text)):
        return Plan(State.HALTED, problems=(_unread(text, config),))
    warnings: tuple[Warned, ...] = ()
    if "\r" in text and (plain := normalised(text)) != text:
        text, warnings = plain, _CRLF
    if not text or text.isspace():
        missing = has_modifications and config.dialect is _COMMITS
        return Plan(State.EMPTY, problems=(Problem("description_missing"),) if missing else ())
    rules = _USUAL if config is COMMIT_MESSAGE else rules_of(config)
    if config.dialect is _COMMITS:
        return read_commits(text, rules, warnings)
    end = text.find("\n")
    first = text if end < 0 else text[:end]
    header = _header(first, rules)
    if header is None:
        return Plan(_UNKNOWN, warnings=warnings, problems=(_no_header(first),))
    if header.title is None:
        if header.ignored and not header.ignored.isspace():
            warnings = (*warnings, Warned("title_ignored", 1, header.ignored))
    elif len(header.title) > config.max_title_length:
        return _halted(header, header.title, first, config, warnings)
    return (
        Plan(_PARSED, header, warnings=warnings) if end < 0 else read_body(text, end, header, rules, warnings)
    )


def _header(line: str, rules: Rules) -> Header | None:
    for pattern, parts in rules.headers:
        found = pattern.fullmatch(line)
        if found is not None:
            kind, scope, mark, title, ignored = parts((*found.groups(), None))
            return Header(kind or "", scope, mark is not None, title, ignored or "")
    return None


def _halted(header: Header, title: str, first: str, config: Config, warnings: tuple[Warned, ...]) -> Plan:
    """The header without its title, which is too long."""
    found = title_too_long(first, title, config)
    short = Header(header.type, header.scope, header.breaking)
    return Plan(State.HALTED, short, warnings=warnings, problems=(found,))


def _encodable(text: str) -> bool:
    """True if the text has no half of a pair of surrogates; to encode it is by far the fastest way to ask."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unread(text: str, config: Config) -> Problem:
    if len(text) > config.max_input_length:
        return Problem("input_too_long", seen=(f"{len(text):,}", f"{config.max_input_length:,}"))
    found = _SURROGATE.search(text)
    at = found.start() if found is not None else text.index("\0")
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Problem("unsafe_character", line, column, 1, seen=(f"U+{ord(text[at]):04X}",))


def _no_header(first: str) -> Problem:
    found = _BREAKING.fullmatch(first)
    if found is not None:
        return Problem("breaking_without_scope", 1, found.end(1) + 1, 1, first, (found[1],))
    return Problem("header_malformed", 1, 1, max(1, len(first)), first, (_HEADER,))
