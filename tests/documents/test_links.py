"""Links to Jira and Confluence are found by their form, wherever they stand, as they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.links import MAX_LINK_LENGTH, find_links, make_link_id
from helpers.requirement import requirement

ONE = "https://acme.atlassian.net/browse/AB-1"
TWO = "https://acme.atlassian.net/wiki/spaces/DOC/pages/42/How+to"

PLACES = {
    "nothing": ("", ()),
    "alone": (ONE, (ONE,)),
    "in a sentence": (f"See {ONE} first.", (ONE,)),
    "end of a sentence": (f"See {ONE}.", (ONE,)),
    "before a comma": (f"{ONE}, then {TWO}; done", (ONE, TWO)),
    "before a colon": (f"{ONE}: the title", (ONE,)),
    "a question and a shout": (f"{ONE}? {TWO}!", (ONE, TWO)),
    "before dots": (f"{ONE}...", (ONE,)),
    "before an ellipsis": (f"{ONE}… and more", (ONE,)),
    "in brackets": (f"(see {ONE})", (ONE,)),
    "in brackets that end a sentence": (f"(see {ONE}).", (ONE,)),
    "in square brackets": (f"[{ONE}]", (ONE,)),
    "in quotes": (f"\"{ONE}\" or '{TWO}'", (ONE, TWO)),
    "in quotes of print": (f"\u201c{ONE}\u201d \u00ab{TWO}\u00bb", (ONE, TWO)),
    "a link": (f"[the issue]({ONE})", (ONE,)),
    "a link with a title": (f'[the issue]({ONE} "AB-1")', (ONE,)),
    "a link in angles": (f"[the issue](<{ONE}>)", (ONE,)),
    "a link that shows itself": (f"[{ONE}]({ONE})", (ONE,)),
    "a picture": (f"![chart]({TWO})", (TWO,)),
    "a reference": (f'[1]: {ONE} "title"', (ONE,)),
    "an autolink": (f"<{ONE}>", (ONE,)),
    "strong": (f"**{ONE}**", (ONE,)),
    "emphasis": (f"_{ONE}_ and *{TWO}*", (ONE, TWO)),
    "struck": (f"~~{ONE}~~", (ONE,)),
    "strong in a link": (f"[**{ONE}**]({TWO})", (ONE, TWO)),
    "a heading": (f"## References\n\n### {ONE} ###", (ONE,)),
    "a list": (f"- {ONE}\n* {TWO}\n", (ONE, TWO)),
    "a list without a blank": (f"-{ONE}\n", (ONE,)),
    "a criterion": (f"- [ ] done as in {ONE} (source: AB)", (ONE,)),
    "a table": (f"|issue|{ONE}|{TWO}|", (ONE, TWO)),
    "a quotation": (f"> {ONE}", (ONE,)),
    "code": (f"`{ONE}`", (ONE,)),
    "a fence": (f"```text\n{ONE}\n```", (ONE,)),
    "an indented block": (f"    {ONE}\n", (ONE,)),
    "a comment": (f"<!-- {ONE} -->", (ONE,)),
    "front matter": (f"---\nissue: {ONE}\n---\n", (ONE,)),
    "an anchor": (f"<a href=\"{ONE}\">x</a><a href='{TWO}'>y</a>", (ONE, TWO)),
    "an anchor without quotes": (f"<a href={ONE}>x</a>", (ONE,)),
    "an escaped anchor": (f"&lt;a href=&quot;{ONE}&quot;&gt;", (ONE,)),
    "before a hard blank": (f"{ONE}&nbsp;{TWO}&#160;x", (ONE, TWO)),
    "JSON": (f'{{"url":"{ONE}","n":1}}', (ONE,)),
    "the markup of the wiki": (f"[the issue|{ONE}] [{TWO}|{TWO}|smart-link]", (ONE, TWO)),
    "line ends of Windows": (f"{ONE}\r\n{TWO}\r\n", (ONE, TWO)),
    "line ends of old": (f"{ONE}\r{TWO}\r", (ONE, TWO)),
    "tabs": (f"\t{ONE}\t{TWO}\t", (ONE, TWO)),
    "twice": (f"{ONE} {TWO} {ONE}", (ONE, TWO)),
    "without a blank between": (f"{ONE},{TWO};{ONE}", (ONE, TWO)),
    "quoted without a blank between": (f"'{ONE}','{TWO}'", (ONE, TWO)),
    "behind a word and a colon": (f"Link:{ONE}", (ONE,)),
    "in Chinese": (f"请看{ONE}。还有{TWO}、谢谢", (ONE, TWO)),
    "in full-width brackets": (f"\uff08{ONE}\uff09", (ONE,)),
    "before a zero-width space": (f"{ONE}\u200bx", (ONE,)),
    "before a mark of direction": (f"\u202e{ONE}\u202cx", (ONE,)),
    "before a control character": (f"{ONE}\x00x {TWO}\x1b[0m", (ONE, TWO)),
    "a byte order mark": (f"\ufeff{ONE}", (ONE,)),
}

WRITTEN = {
    "capitals": "HTTPS://Acme.Atlassian.NET/browse/AB-1",
    "no encryption": "http://acme.atlassian.net/browse/AB-1",
    "a query": "https://acme.atlassian.net/browse/AB-1?focusedCommentId=7&page=a.b:c",
    "a fragment": "https://acme.atlassian.net/wiki/spaces/DOC/pages/42#Set-up",
    "a slash at the end": "https://acme.atlassian.net/browse/AB-1/",
    "a board": "https://acme.atlassian.net/jira/software/c/projects/AB/boards/3?selectedIssue=AB-1",
    "a search": "https://acme.atlassian.net/issues/?jql=project%20%3D%20AB%20AND%20text~'x",
    "a search for all": "https://acme.atlassian.net/?jql=project=AB",
    "a short link": "https://acme.atlassian.net/wiki/x/AbC_d",
    "a portal": "https://acme.atlassian.net/servicedesk/customer/portal/1/AB-1",
    "the older cloud": "https://acme.jira.com/browse/AB-1",
    "the cloud of a government": "https://acme.atlassian-us-gov-mod.net/wiki/spaces/DOC",
    "the gateway": "https://api.atlassian.com/ex/jira/11f/rest/api/3/issue/AB-1",
    "percent signs": "https://acme.atlassian.net/wiki/spaces/DOC/pages/42/50%25+of+%C3%BCber%2Fx",
    "letters that are not Latin": "https://acme.atlassian.net/wiki/spaces/DOC/pages/42/Übersicht-प्रकार",
    "brackets": "https://wiki.acme.com/display/DOC/Name_(old)",
    "brackets in brackets": "https://wiki.acme.com/display/DOC/Name_(old_(older))",
    "an apostrophe": "https://wiki.acme.com/display/DOC/What's+New",
    "a link in the query": "https://jira.acme.com/login.jsp?to=https://jira.acme.com/browse/AB-1",
    "an at sign in the path": "https://acme.atlassian.net/wiki/people/me@acme",
    "a host by its name": "https://jira.acme.com/projects/AB/summary",
    "a host by a part of its name": "https://eu.acme-confluence.corp.example/some/page",
    "a host of one word": "http://jira/browse/AB-1",
    "a port": "http://localhost:2990/jira/browse/AB-1",
    "an address": "http://10.0.0.5:8080/browse/AB_C-12",
    "a small key": "https://issues.acme.com/browse/ab-1",
    "below a path": "https://issues.apache.org/jira/browse/KAFKA-1",
    "a project's issue": "https://track.acme.com/projects/AB/issues/AB-1?filter=all",
    "a filter": "https://track.acme.com/issues/?filter=123",
    "a search elsewhere": "https://track.acme.com/issues?a=b&jql=x",
    "an old board": "https://track.acme.com/secure/RapidBoard.jspa?rapidView=3",
    "a portal elsewhere": "https://help.acme.com/servicedesk/customer/portal/2",
    "a page by its title": "https://cwiki.apache.org/confluence/display/KAFKA/KIP-500",
    "a page by its number": "https://wiki.acme.com/pages/viewpage.action?pageId=42",
    "a page in a space": "https://wiki.acme.com/wiki/spaces/~me/pages/42",
    "a short link elsewhere": "https://wiki.acme.com/wiki/x/AbC",
}

READ = {
    "an entity": ("https://a.atlassian.net/x?a=1&amp;b=2", "https://a.atlassian.net/x?a=1&b=2"),
    "an escape": (r"https://track.acme.com/browse/AB\_C-1", "https://track.acme.com/browse/AB_C-1"),
    "escaped brackets": (r"[x](https://wiki.acme.com/display/D/a\))", "https://wiki.acme.com/display/D/a)"),
    "a dot that is its own": (f"<{TWO}.>", f"{TWO}."),
    "a question in a link": (f"[x]({TWO}?!)", f"{TWO}?!"),
    "a quote in an anchor": (f'<a href="{TWO}\'">', f"{TWO}'"),
    "a dot that is nobody's": (f"({TWO}.)", TWO),
    "an open bracket": ("https://acme.atlassian.net/browse/AB-1(", ONE),
}

NO_LINKS = [
    "acme.atlassian.net/browse/AB-1",
    "//acme.atlassian.net/browse/AB-1",
    "ftp://acme.atlassian.net/browse/AB-1",
    "git+https://acme.atlassian.net/browse/AB-1",
    "xhttps://acme.atlassian.net/browse/AB-1",
    "javascript:alert(1)//acme.atlassian.net/browse/AB-1",
    "file:///browse/AB-1",
    "https:/acme.atlassian.net/browse/AB-1",
    "https://",
    "https:///browse/AB-1",
    "https://?jql=x",
    "https://acme.atlassian.net",
    "https://acme.atlassian.net/",
    "https://jira.acme.com/#top",
    "https://<site>.atlassian.net/browse/AB-1",
    "https://{site}.atlassian.net/browse/AB-1",
    "https://me:secret@acme.atlassian.net/browse/AB-1",
    "https://acme.atlassian.net@evil.example/browse/AB-1",
    r"https://acme.atlassian.net\@evil.example/browse/AB-1",
    "https://acme.atlassian.net:port/browse/AB-1",
    "https://acme..atlassian.net/browse/AB-1",
    "https://jira%2eacme.com/browse/AB-1",
    "http://[::1]:8080/browse/AB-1",
    "https://www.atlassian.com/software/jira",
    "https://atlassian.net.evil.example/x",
    "https://evilatlassian.net/x",
    "https://bitbucket.org/acme/app/pull-requests/1",
    "https://github.com/acme/jira/issues/1",
    "https://github.com/acme/app/issues?q=is%3Aopen",
    "https://git.acme.com/projects/AB/repos/app/browse/AB-1",
    "https://acme.com/browse/shoes",
    "https://acme.com/a/b/browse/AB-1",
    "https://acme.com/go?to=https://acme.atlassian.net/browse/AB-1",
    "https://web.archive.org/web/2026/https://acme.atlassian.net/browse/AB-1",
    "https://acme.atlassian.net/wiki/caf\ufffd",
    "https://acme.atlassian.net/wiki/caf\udce9/x",
    f"https://acme.atlassian.net/{'a' * MAX_LINK_LENGTH}",
]


@requirement("spells:expecto.extract")
@pytest.mark.parametrize("place", PLACES)
def test_a_link_is_found_wherever_it_stands(place: str) -> None:
    text, links = PLACES[place]

    assert find_links(text) == links


@requirement("spells:expecto.extract")
@pytest.mark.parametrize("form", WRITTEN)
def test_a_link_of_any_form_is_given_as_it_is_written(form: str) -> None:
    link = WRITTEN[form]

    for text in (link, f"[x]({link})", f"<{link}>.", f"## References\n\n- {link}\n"):
        assert find_links(text) == (link,)


@pytest.mark.parametrize("what", READ)
def test_what_markdown_writes_otherwise_is_read_as_what_it_stands_for(what: str) -> None:
    text, link = READ[what]

    assert find_links(text) == (link,)


@pytest.mark.parametrize("text", NO_LINKS)
def test_what_is_no_link_to_them_is_not_given(text: str) -> None:
    assert find_links(text) == ()


def test_there_are_sixty_texts_and_more() -> None:
    assert len(PLACES) + len(WRITTEN) + len(READ) + len(NO_LINKS) == 136


def test_the_longest_link_is_given_and_a_longer_one_is_not() -> None:
    longest = f"https://acme.atlassian.net/{'a' * (MAX_LINK_LENGTH - 27)}"

    assert find_links(longest) == (longest,)
    assert find_links(f"{longest}a {ONE}") == (ONE,)


PIECES = st.one_of(
    st.sampled_from(
        [ONE, TWO, "http://", "HTTPS://", "ftp://", "jira", "/browse/AB-1", "?jql=", "&amp;", "\r\n"]
    ),
    st.sampled_from("./#@:()[]<>\\_*,= \0é、\ud800\ufffd"),
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_nothing_but_links_is_ever_given(text: str) -> None:
    links = find_links(text)

    assert len(set(links)) == len(links)
    for link in links:
        assert link.lower().startswith(("http://", "https://"))
        assert len(link) <= MAX_LINK_LENGTH
        assert not set(link) & set(' \t\r\n\0<>"`{}|^\\[]')
        assert len(make_link_id(link)) == 16


LINKISH = [
    "http://a、=",
    "http://a(",
    "http://jira/a()",
    "https://",
    "=https://",
    "http://jira/é",
    "http://a.",
]
OTHERS = [
    "http://x/issues?&",
    "http://a-",
    f"{ONE} ",
    f"{ONE},",
    "&amp;",
    "\\_",
    "](",
    "/issues?&jql",
    "browse/A-",
]
SIGNS = "()[é&\\a<`%\0\r\n\ufffd\u202e"


@pytest.mark.unmeasured
@pytest.mark.parametrize("piece", [*LINKISH, *OTHERS, *SIGNS])
def test_a_hostile_text_of_a_megabyte_is_read_in_no_time(piece: str) -> None:
    many = piece * (1_000_000 // len(piece))

    for text in (many, f"https://jira/{many}"):
        assert all(len(link) <= MAX_LINK_LENGTH for link in find_links(text))
