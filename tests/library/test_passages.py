"""Passages: nothing is lost, everything fits, structure is kept where it can be, ids never collide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import UnreadablePage
from bot.library.load import load_library, read_page
from bot.library.models import Passage, Runbook
from bot.library.passages import cut, embedding_text
from bot.library.ports import Embedder
from bot.search.embedders import LocalEmbedder

Page = Callable[[str], Runbook]


def assert_whole(runbook: Runbook, passages: tuple[Passage, ...], embedder: Embedder) -> None:
    """Verbatim, in order, with the right lines, within the window, and with every word of the body in one of them."""
    text = runbook.text
    body = sum(len(line) + 1 for line in text.split("\n")[: runbook.body_line - 1])
    at = body
    for passage in passages:
        assert passage.start >= at
        assert not text[at : passage.start].strip()
        at = passage.start + len(passage.text)
        assert text[passage.start : at] == passage.text
        assert passage.text.strip()
        assert passage.start_line == text.count("\n", 0, passage.start) + 1
        assert passage.end_line == text.count("\n", 0, at - 1) + 1
        assert passage.runbook == runbook.path
        assert embedder.count_tokens(embedding_text(runbook, passage)) <= embedder.window
    assert not text[at:].strip()
    assert len({passage.id for passage in passages}) == len(passages)


_word = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
_line = st.lists(_word, min_size=1, max_size=12).map(" ".join)
_lines = st.lists(_line, min_size=1, max_size=40)


def _table(rows: list[str]) -> str:
    return "\n".join(["| a | b |", "| --- | --- |", *(f"| {row.replace('|', '')} | x |" for row in rows)])


_block = st.one_of(
    st.tuples(st.integers(1, 6), _line).map(lambda h: f"{'#' * h[0]} {h[1]}"),
    _line,
    _lines.map("\n".join),
    _lines.map(" ".join),
    _lines.map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    _lines.map(lambda lines: "\n".join(f"{i}. {line}\n\n   ```\n   {line}\n   ```" for i, line in enumerate(lines, 1))),
    _lines.map(lambda lines: "```sh\n" + "\n".join(lines) + "\n```"),
    _lines.map(lambda lines: "```\n" + "\n".join(lines)),
    _lines.map(_table),
    _lines.map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    _lines.map(lambda lines: "<details>\n" + "\n".join(lines) + "\n</details>"),
    _line.map(lambda line: f"{line}\n==="),
    st.just("[ref]: https://example.org/x"),
    st.just("<!-- a comment -->"),
    st.just("---"),
    st.text(max_size=80),
    _word.map(lambda word: word * 300),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_block, min_size=1, max_size=8), st.sampled_from(["\n", "\n\n", "\n\n\n"]), _line)
def test_nothing_of_a_page_is_missing_and_every_passage_fits(blocks: list[str], between: str, title: str) -> None:
    text = f"---\ntitle: '{title.replace(chr(39), '')}'\n---\n" + between.join(blocks)
    try:
        runbook = read_page("page.md", text.encode(), clean=lambda t: t)
    except UnreadablePage:  # nothing but white space, or a NUL
        return
    assert_whole(runbook, cut(runbook, _EMBEDDER), _EMBEDDER)


_EMBEDDER = LocalEmbedder()


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=3000))
def test_any_text_is_cut_whole(text: str) -> None:
    try:
        runbook = read_page("page.md", text.encode(), clean=lambda t: t)
    except UnreadablePage:
        return
    assert_whole(runbook, cut(runbook, _EMBEDDER), _EMBEDDER)


@pytest.mark.parametrize(
    "text",
    [
        "한국어 문장은 더 많은 토큰이 됩니다. " * 200,
        "日本語の文章。" * 400,
        "ﷺ" * 400,
        "🔥" * 900,
        "a" * 50_000,
        "-" * 3000,
        "# " + "제목" * 300 + "\n\n" + "본문 " * 400,
        "\n".join(f"{'#' * level} {'very long heading ' * 20}" for level in range(1, 7)) + "\n\n" + "text " * 2000,
        "> " * 300 + "deep",
        "- " * 300 + "deep",
        "| "
        + " | ".join(f"column {i}" for i in range(200))
        + " |\n|"
        + "---|" * 200
        + "\n"
        + ("| x " * 200 + "|\n") * 3,
        "```\n" + "x = 1; " * 2000 + "\n```\n",
        "[a]: http://x\n[b]: http://y\n",
        "\n\n\n    indented code first\n\ntext",
    ],
)
def test_hostile_pages_are_cut_whole(page: Page, embedder: Embedder, text: str) -> None:
    runbook = page(text)
    assert_whole(runbook, cut(runbook, embedder), embedder)


def test_one_section_is_one_passage_with_its_path(page: Page, embedder: Embedder) -> None:
    runbook = page("---\ntitle: T\n---\nIntro.\n\n# Top\n\nA.\n\n## Checks\n\n1. one\n2. two\n\nmore\n\n# Next\n\nB.\n")
    passages = cut(runbook, embedder)
    assert [(p.headings, p.start_line, p.end_line) for p in passages] == [
        ((), 4, 4),
        (("Top",), 6, 8),
        (("Top", "Checks"), 10, 15),
        (("Next",), 17, 19),
    ]
    assert embedding_text(runbook, passages[2]).startswith("T\nTop\n## Checks")


def test_headings_without_a_body_join_what_is_below_or_above(page: Page, embedder: Embedder) -> None:
    passages = cut(page("# Top\n\n## A\n\ntext a\n\n## Empty\n\n## B\n\n### Deep\n\ntext b\n\n## Last\n"), embedder)
    assert [(p.headings, p.text) for p in passages] == [
        (("Top", "A"), "# Top\n\n## A\n\ntext a\n\n## Empty"),
        (("Top", "B", "Deep"), "## B\n\n### Deep\n\ntext b\n\n## Last"),
    ]
    (only,) = cut(page("# Only\n\n## Headings\n"), embedder)
    assert only.headings == ("Only", "Headings")


def test_a_long_section_is_cut_between_its_blocks(page: Page, embedder: Embedder) -> None:
    code = "```sh\n" + "\n".join(f"kubectl get pods --namespace shop-{i}" for i in range(12)) + "\n```"
    steps = "\n".join(f"{i}. Look at the dashboard of shard {i} and compare." for i in range(1, 12))
    text = f"# T\n\n{'Some words of introduction. ' * 20}\n\nRun this:\n\n{code}\n\n{steps}\n"
    passages = cut(page(text), embedder)
    assert [p.text for p in passages if code in p.text]
    assert [p.text for p in passages if steps in p.text]
    (with_code,) = [p for p in passages if code in p.text]
    assert f"Run this:\n\n{code}" in with_code.text


def test_a_list_that_is_too_long_is_cut_between_items(page: Page, embedder: Embedder) -> None:
    items = [f"- Step {i}: look at the dashboard,\n  and compare with the hour before.\n" for i in range(60)]
    passages = cut(page("# T\n\n" + "\n".join(items)), embedder)
    assert len(passages) > 2
    assert all(p.text.lstrip("# T\n").startswith("- Step") or p.text.startswith("# T") for p in passages)
    assert all(p.text.endswith("before.") for p in passages)


def test_a_fence_that_is_too_long_is_cut_at_line_ends_and_says_what_it_is(page: Page, embedder: Embedder) -> None:
    lines = [f"curl --fail --silent https://shard-{i}.internal/healthz | jq .status" for i in range(80)]
    passages = cut(page("# T\n\n```bash\n" + "\n".join(lines) + "\n```\n"), embedder)
    assert len(passages) > 3
    for passage in passages[1:]:
        assert passage.context == "```bash"
        assert passage.text.split("\n")[0] in lines
    assert {line for p in passages for line in p.text.split("\n")} >= set(lines)


def test_cut_rows_keep_their_header(page: Page, embedder: Embedder) -> None:
    header = "| code | meaning | first action |\n| --- | --- | --- |"
    rows = [f"| E{i:02} | worker reports state {i} | restart shard {i} |" for i in range(1, 61)]
    passages = cut(page("Before:\n\n" + header + "\n" + "\n".join(rows) + "\n\nAfter.\n"), embedder)
    for i, row in enumerate(rows):
        (holder,) = [p for p in passages if row in p.text]
        assert "| code | meaning | first action |" in holder.text + holder.context, i
        assert header in embedding_text(page("x"), holder)
    for passage in passages:
        assert all(line.endswith("|") for line in passage.text.split("\n") if line.startswith("|"))


def test_a_header_that_would_fill_the_window_is_not_repeated(page: Page, embedder: Embedder) -> None:
    runbook = page("| " + "many words " * 60 + "| b |\n| --- | --- |\n" + "| row | x |\n" * 40)
    passages = cut(runbook, embedder)
    assert_whole(runbook, passages, embedder)
    assert {p.context for p in passages} == {""}


def test_the_tail_of_a_long_paragraph_is_in_a_passage_that_fits(page: Page, embedder: Embedder) -> None:
    runbook = page("# Lag\n\n" + "Compare the commit rate with the produce rate. " * 120 + "The very last words.\n")
    passages = cut(runbook, embedder)
    assert passages[-1].text.endswith("The very last words.")
    assert all(p.text.endswith((".", "words.")) for p in passages)
    assert_whole(runbook, passages, embedder)


def test_an_indented_command_keeps_its_indentation(page: Page, embedder: Embedder) -> None:
    passages = cut(page("# T\n\n" + "word " * 300 + "\n\n    indented --command\n\nend\n"), embedder)
    assert "    indented --command" in "\n".join(p.text for p in passages).split("\n")


def test_same_text_in_other_places_has_other_ids(embedder: Embedder) -> None:
    text = b"# R\n\n## Check\n\nLook.\n\n## Fix\n\nx\n\n## Check\n\nLook.\n"
    ids = []
    for path in ("a/restart.md", "b/restart.md"):
        runbook = read_page(path, text, clean=lambda t: t)
        assert [p.id for p in cut(runbook, embedder)] == [p.id for p in cut(runbook, embedder)]
        ids += [p.id for p in cut(runbook, embedder)]
    assert len(set(ids)) == len(ids) == 6


def test_another_title_is_another_id_because_it_is_embedded(embedder: Embedder) -> None:
    pages = [read_page("a.md", f"---\ntitle: {t}\n---\nx".encode(), clean=lambda t: t) for t in "AB"]
    (a,), (b,) = (cut(runbook, embedder) for runbook in pages)
    assert a.text == b.text
    assert a.id != b.id


def test_a_changed_owner_or_service_alone_changes_no_id(embedder: Embedder) -> None:
    pages = [read_page("a.md", f"---\nowner: {t}\n---\nx".encode(), clean=lambda t: t) for t in "AB"]
    (a,), (b,) = (cut(runbook, embedder) for runbook in pages)
    assert (a.id, a) == (b.id, b)


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)])
def test_real_pages_are_cut_whole_and_fit(shared: Path, embedder: Embedder, every: int) -> None:
    ids: set[str] = set()
    pages = load_library(shared / "eval/dev/corpus", clean=str).runbooks[::every]
    for page in pages:
        passages = cut(page, embedder)
        assert_whole(page, passages, embedder)
        assert passages
        ids |= {passage.id for passage in passages}
    assert len(ids) > 5 * len(pages)
