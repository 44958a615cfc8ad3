"""The tool that records what the program answers: what it replaces, and what it calls a difference."""

from tools.transcripts import clean, differences, unfold

RUN = "1f0c0f4e-3f0e-4d55-9c2e-0f6d1b7a8c11"
OTHER = "2a5e1c0f-52f3-4c6e-9a55-3f1f0c7d2b10"


def test_each_random_word_is_named_by_first_sight_and_keeps_its_name() -> None:
    text = f"{OTHER} and {RUN}, again {OTHER}, in short 1f0c0f4e, not 00c0ffee"

    assert clean(text, {}) == "<id-1> and <id-2>, again <id-1>, in short <id-2:8>, not 00c0ffee"


def test_tokens_secrets_hashes_ports_and_boundaries_have_names() -> None:
    token, digest = "aB3-" * 18, "0a" * 32
    text = f"{token} hr_Zm9yIGV4YW1wbGUgb25seQ {digest} 127.0.0.1:8765\n[0123456789ab begins: text of a file]"

    assert clean(text, {}) == (
        "<token-1> <secret-1> <hash-1> 127.0.0.1:<port>\n[<short-1> begins: text of a file]"
    )


def test_where_a_file_of_the_program_lies_says_nothing() -> None:
    path = "/srv/handrail/src/handrail/workflows/library/steps/docs.yaml"

    assert clean(path, {"/srv/handrail": "<repository>"}) == "<package>/docs.yaml"


def test_compact_json_is_unfolded_and_any_other_text_is_not() -> None:
    assert unfold('{"a":[1]}') == '(compact JSON)\n{\n "a": [\n  1\n ]\n}'
    assert unfold('{"a": [1]}') == '{"a": [1]}'
    assert unfold("# A page") == "# A page"


def test_two_records_differ_where_a_line_or_a_file_does() -> None:
    before = {"a.txt": "one\ntwo\n", "b.txt": "same\n"}

    assert differences(before, before) == []
    assert differences(before, {"a.txt": "one\n2\n", "b.txt": "same\n", "c.txt": "new\n"}) == [
        "--- before/a.txt\n",
        "+++ after/a.txt\n",
        "@@ -1,2 +1,2 @@\n",
        " one\n",
        "-two\n",
        "+2\n",
        "--- before/c.txt\n",
        "+++ after/c.txt\n",
        "@@ -0,0 +1 @@\n",
        "+new\n",
    ]
