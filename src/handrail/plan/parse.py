"""Reading a plan document: one pass over its lines, by the rules of a configuration.

Every text gets a state. Where reading halts, the plan holds what was read until then, and the problem says
where it stands and how it is mended.
"""

import re
from typing import Final

from handrail.plan.commits import read_commits
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.model import Header, Plan, Problem, State, Warned
from handrail.plan.planner import read_body
from handrail.plan.problems import problem
from handrail.plan.rules import Rules, rules_of

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BREAKING: Final = re.compile(r"[a-z]+!:.*")
_CRLF: Final = Warned("crlf_normalised", "lines that end in CRLF are read as if they ended in LF")


def parse(text: str, config: Config = COMMIT_MESSAGE, *, has_modifications: bool = False) -> Plan:
    """What the text says; `has_modifications` if files were changed in the commit that it describes."""
    rules = rules_of(config)
    if len(text) > config.max_input_length or "\0" in text or not (text.isascii() or _encodable(text)):
        return _unread(text, config)
    warnings: tuple[Warned, ...] = ()
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
        warnings = (_CRLF,)
    if not text or text.isspace():
        return _empty(config, has_modifications=has_modifications)
    if config.dialect is Dialect.COMMITS:
        return read_commits(text, rules, warnings)
    return _planner(text, rules, warnings)


def _planner(text: str, rules: Rules, warnings: tuple[Warned, ...]) -> Plan:
    end = text.find("\n")
    first = text if end < 0 else text[:end]
    header = _header(first, rules)
    if header is None:
        return Plan(State.UNKNOWN, warnings=warnings, problems=(_no_header(text, first),))
    if header.title is not None and len(header.title) > rules.config.max_title_length:
        return _too_long(text, header, rules.config, warnings)
    if header.ignored and not header.ignored.isspace():
        warnings = (*warnings, _ignored(header))
    if end < 0:
        return Plan(State.PARSED, header, warnings=warnings)
    return read_body(text, end, header, rules, warnings)


def _header(line: str, rules: Rules) -> Header | None:
    found = rules.complete.fullmatch(line)
    if found is None:
        for pattern in rules.headers:
            found = pattern.fullmatch(line)
            if found is not None:
                break
        else:
            return None
    groups = found.groupdict()
    get = groups.get
    return Header(
        get("type") or "", get("scope"), get("breaking") is not None, get("title"), get("ignored") or ""
    )


def _encodable(text: str) -> bool:
    return _SURROGATE.search(text) is None


def _empty(config: Config, *, has_modifications: bool) -> Plan:
    if config.dialect is Dialect.COMMITS and has_modifications:
        missing = Problem(
            "description_missing",
            "files were changed, and the commit has no description",
            "begin the plan with a header such as `feat(scope): summary`",
        )
        return Plan(State.EMPTY, problems=(missing,))
    return Plan(State.EMPTY)


def _unread(text: str, config: Config) -> Plan:
    if len(text) > config.max_input_length:
        message = f"the text has {len(text):,} characters; {config.max_input_length:,} are read"
        return Plan(State.HALTED, problems=(Problem("input_too_long", message, "shorten it"),))
    at = text.find("\0")
    if at < 0:
        found = _SURROGATE.search(text)
        at = found.start() if found else 0
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    message = f"the character U+{ord(text[at]):04X} cannot stand in a commit"
    return Plan(
        State.HALTED, problems=(Problem("unsafe_character", message, "take it out", line, column, 1),)
    )


def _no_header(text: str, first: str) -> Problem:
    lines = text.split("\n", 1)
    if _BREAKING.fullmatch(first):
        at = first.index("!")
        repair = f"name a scope: `{first[:at]}(scope){first[at:]}`"
        message = "a `!` needs a scope ahead of it"
        return problem("breaking_without_scope", message, repair, lines, 1, at + 1, 1)
    message = "the first line is no header" if first.strip() else "the first line is empty"
    return problem("header_malformed", message, "begin with `type(scope): title`", lines, 1)


def _too_long(text: str, header: Header, config: Config, warnings: tuple[Warned, ...]) -> Plan:
    title, most = header.title or "", config.max_title_length
    lines = text.split("\n", 1)
    column = len(lines[0]) - len(title) + most + 1
    message = f"the title has {len(title)} characters; {most} are read"
    found = problem("title_too_long", message, "shorten it, and say the rest below", lines, 1, column)
    short = Header(header.type, header.scope, header.breaking)
    return Plan(State.HALTED, short, warnings=warnings, problems=(found,))


def _ignored(header: Header) -> Warned:
    message = (
        f"`{header.ignored.strip()}` is kept and not read as a title: "
        f"a title needs a scope, `{header.type}(scope):{header.ignored}`"
    )
    return Warned("title_ignored", message, "header.title", 1)
