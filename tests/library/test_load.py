"""Loading: what teams really have is read right, what can't be read is refused by name, the rest is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import EmptyLibrary, IndexingError, RedactionError, UnreadablePage
from bot.library.load import last_good, load_library, read_page
from bot.library.models import Library, Refusal, Runbook
from bot.library.names import title_of_path

Load = Callable[..., Library]
Page = Callable[[str], Runbook]
Folder = Callable[..., Path]


def keep(text: str) -> str:
    return text


def mask(text: str) -> str:
    return text.replace("s3cr3t", "[secret]")


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.md", "---\ntitle: From front matter\n---\n# Other\n", "From front matter"),
        ("a.md", "Some text.\n\n## `kubectl` and [links](x)\n\ntext", "kubectl and links"),
        ("a.md", "Setext title\n============\n\ntext", "Setext title"),
        ("a.md", "---\ntitle:\n---\n# Heading\n", "Heading"),
        ("a.md", "<!-- # Not this -->\n\n# This *one* #\n", "This one"),
        ("a.md", "```sh\n# not a heading\n```\n\n# Real\n", "Real"),
        ("manual/restart-the-app.html.md", "no heading", "Restart the app"),
        ("manual/with spaces_and-bars.markdown", "no heading", "With spaces and bars"),
        ("node/KubeNodeNotReady.md", "no heading", "KubeNodeNotReady"),
        ("team-a/README.md", "no heading", "Team a"),
        ("node/_index.md", "no heading", "Node"),
        (".md/-.md", "no heading", "-.md"),
    ],
)
def test_the_title(path: str, text: str, title: str) -> None:
    assert read_page(path, text.encode(), clean=keep).title == title


def test_headings_have_the_lines_of_the_file(page: Page) -> None:
    text = "---\ntitle: A\n---\n\n# One\n\ntext\n\nTwo\n---\n\n```\n## no\n```\n\n- # nested\n\n### Three ###\n"
    runbook = page(text)
    assert runbook.headings == ((1, "One", 5), (2, "Two", 9), (3, "Three", 18))
    assert runbook.body_line == 4
    assert runbook.text == text


def test_a_heading_after_a_fence_that_nobody_closed_is_a_heading(page: Page) -> None:
    runbook = page("# A\n\n## Diagnosis\n\n```shell\n# a comment\nkubectl get pods\n\n## Mitigation\n\nTODO\n")
    assert [title for _, title, _ in runbook.headings] == ["A", "Diagnosis", "Mitigation"]
    assert page("# A\n\n~~~\n# comment\n\n## still code\n~~~\n").headings == ((1, "A", 1),)


def test_bom_and_line_ends_are_read_right() -> None:
    raw = b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\n# H\r\nold\rmac\r\n"
    runbook = read_page("a.md", raw, clean=keep)
    assert runbook.title == "A"
    assert runbook.text == "---\ntitle: A\n---\n# H\nold\nmac\n"
    assert runbook.headings == ((1, "H", 4),)


def test_only_line_feeds_end_lines(page: Page) -> None:
    runbook = page("one\x0btwo\x0cthree\u2028four\x85five\n\n# Title\n")
    assert runbook.headings == ((1, "Title", 3),)
    assert runbook.lines(3, 3) == "# Title"


@pytest.mark.parametrize(
    ("raw", "reason", "line"),
    [
        ("# A\n".encode("utf-16"), "UTF-16", 1),
        ("# A\n".encode("utf-32"), "UTF-32", 1),
        ("# A\nb".encode("utf-16-le"), "NUL", 1),
        (b"# A\n\ncaf\xe9\n", "not UTF-8", 3),
        (b"", "empty", 1),
        (b" \n\t\n\n", "empty", 1),
        (b"---\ntitle: A\n---\n\n", "empty below the front matter", 4),
        (b"---\ntitle: [A\n---\nx", "YAML", 2),
        (b"---\ntitle: A\nx", "not closed", 1),
        (b"---\nlast_reviewed: 2024-02-30\n---\nx", "not a date", 2),
        (b"x" * 2000, "MAX_RUNBOOK_BYTES", 1),
    ],
)
def test_a_page_that_cannot_be_read_is_refused_by_name_and_the_rest_is_there(
    load: Load, raw: bytes, reason: str, line: int
) -> None:
    library = load({"good.md": "# Good\n\ntext", "sub/bad.md": raw}, max_bytes=1000)
    assert [page.path for page in library.runbooks] == ["good.md"]
    (refusal,) = library.refusals
    assert (refusal.path, refusal.line) == ("sub/bad.md", line)
    assert reason in refusal.reason
    assert refusal.fix


def test_only_pages_are_read(load: Load) -> None:
    library = load(
        {
            "b.markdown": "b",
            "a/C.MD": "c",
            "README.md": "r",
            "services.yaml": "services: {}",
            "notes.txt": "no",
            "x.md.bak": "no",
            ".hidden.md": "no",
            ".git/x.md": "no",
            "a/.b/x.md": "no",
        }
    )
    assert [page.path for page in library.runbooks] == ["README.md", "a/C.MD", "b.markdown"]
    assert library.refusals == ()


def test_what_leads_out_of_the_folder_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("# Outside")
    root = folder({"real.md": "# Real", ".data/inside.md": "# Inside"})
    (root / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "up.md").symlink_to("../outside/secret.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "broken.md").symlink_to("nowhere.md")
    (root / "mounted.md").symlink_to(".data/inside.md")
    os.mkfifo(root / "pipe.md")
    library = load_library(root, clean=keep)
    assert [(page.path, page.title) for page in library.runbooks] == [("mounted.md", "Inside"), ("real.md", "Real")]
    assert [refusal.path for refusal in library.refusals] == ["broken.md", "link.md", "pipe.md", "up.md"]
    assert load_library(root, clean=keep) == library


def test_the_folder_itself_may_be_a_link(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(folder({"a/b.md": "# B"}))
    assert [page.path for page in load_library(tmp_path / "current", clean=keep).runbooks] == ["a/b.md"]


def test_a_file_name_that_is_not_utf8_is_refused(folder: Folder) -> None:
    root = folder({"a.md": "# A"})
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.md")).write_text("# B")
    (refusal,) = load_library(root, clean=keep).refusals
    refusal.path.encode()
    assert "UTF-8" in refusal.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(folder: Folder) -> None:
    root = folder({"a.md": "# A", "b.md": "# B"})
    (root / "b.md").chmod(0)
    assert [refusal.path for refusal in load_library(root, clean=keep).refusals] == ["b.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_refused(folder: Folder) -> None:
    root = folder({"a.md": "# A", "sub/b.md": "# B", "lost+found/c.md": "# C"})
    (root / "sub").chmod(0)
    (root / "lost+found").chmod(0)
    try:
        assert [refusal.path for refusal in load_library(root, clean=keep).refusals] == ["sub"]
    finally:
        (root / "sub").chmod(0o700)
        (root / "lost+found").chmod(0o700)


def test_a_file_that_goes_while_the_folder_is_read_is_simply_gone(folder: Folder) -> None:
    root = folder({"a.md": "# A", "b.md": "# B"})

    def clean(text: str) -> str:
        (root / "b.md").unlink(missing_ok=True)
        return text

    library = load_library(root, clean=clean)
    assert ([page.path for page in library.runbooks], library.refusals) == (["a.md"], ())


def test_a_library_without_a_page_is_a_named_error(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(EmptyLibrary, match="not a folder"):
        load_library(tmp_path / "nowhere", clean=keep)
    with pytest.raises(EmptyLibrary, match="no Markdown page"):
        load_library(folder({"a.txt": "x"}), clean=keep)
    with pytest.raises(EmptyLibrary, match=r"a\.md:1: it is empty"):
        load_library(folder({"a.md": "", "b.md": b"\xff"}), clean=keep)


def test_too_many_pages_is_a_named_error(load: Load) -> None:
    with pytest.raises(IndexingError, match="MAX_RUNBOOKS"):
        load({f"{i}.md": "x" for i in range(3)}, max_pages=2)


def test_a_page_is_redacted_once_and_its_lines_stay_the_files(load: Load) -> None:
    library = load({"a.md": "# A\n\nuse s3cr3t here\n\n## s3cr3t\n", "b.md": "b"}, clean=mask)
    page = library.runbooks[0]
    assert page.text == "# A\n\nuse [secret] here\n\n## [secret]\n"
    assert page.redacted_lines == (3, 5)
    assert page.headings[1] == (2, "[secret]", 5)
    assert "s3cr3t" not in repr(library)


def test_a_mask_in_front_matter_neither_breaks_the_page_nor_leaks(load: Load) -> None:
    text = "---\ntitle: [s3cr3t]\nowner: s3cr3t\ntags: [s3cr3t, x]\naudience: dba\n---\n\nbody\n"
    library = load({"a.md": text}, clean=lambda t: t.replace("s3cr3t", "[x: @y"))
    (page,) = library.runbooks
    assert (page.title, page.owner, page.tags, page.audience) == ("[x: @y", "[x: @y", ("[x: @y", "x"), ("dba",))
    assert "s3cr3t" not in repr(library)


def test_a_page_whose_redaction_fails_is_refused(load: Load) -> None:
    def fail(text: str) -> str:
        if "bomb" in text:
            raise RedactionError("too slow")
        return text

    library = load({"a.md": "a", "b.md": "bomb", "c.md": "---\naudience: dba\n---\nbomb"}, clean=fail)
    assert [page.path for page in library.runbooks] == ["a.md"]
    assert [(r.path, r.audience) for r in library.refusals] == [("b.md", None), ("c.md", ("dba",))]


def test_a_redaction_that_loses_lines_refuses_the_page() -> None:
    with pytest.raises(UnreadablePage, match="number of its lines"):
        read_page("a.md", b"a\nb\n", clean=lambda text: text.replace("\n", " "))


def test_the_version_addresses_the_shown_text(page: Page) -> None:
    assert page("# A\n\ntext").version == page("# A\r\n\r\ntext").version
    assert page("# A\n\ntext").version != page("# A\n\nother").version


def test_services_take_their_catalogue_names(load: Load) -> None:
    catalogue = "services:\n  - name: checkout-db\n    aliases: [postgres]\n"
    library = load({"services.yaml": catalogue, "a.md": "---\nservices: [Postgres, unknown, checkout-db]\n---\nx"})
    assert library.runbooks[0].services == ("checkout-db", "unknown")
    assert not library.catalogue.derived


def test_without_a_catalogue_services_come_from_the_pages(load: Load) -> None:
    library = load({"a.md": "---\nservice: b\nowner: x\n---\nx", "c.md": "---\nservices: [a, B]\n---\nx"})
    assert [service.name for service in library.catalogue.services] == ["a", "b"]
    assert library.catalogue.derived
    assert {service.owner for service in library.catalogue.services} == {""}


def test_unchanged_pages_are_not_read_again(folder: Folder) -> None:
    root = folder({"a.md": "# A", "b.md": "# B"})
    cleaned: list[str] = []

    def clean(text: str) -> str:
        cleaned.append(text)
        return text

    first = load_library(root, clean=clean)
    before = {(page.path, page.source): page for page in first.runbooks}
    assert load_library(root, clean=clean, known=lambda *key: before.get(key)) == first
    assert cleaned == ["# A", "# B"]
    (root / "b.md").write_text("# B2")
    load_library(root, clean=clean, known=lambda *key: before.get(key))
    assert cleaned == ["# A", "# B", "# B2"]
    load_library(root, clean=clean, known=lambda *key: before.get(key), rules="others")
    assert cleaned[3:] == ["# A", "# B2"]
    (root / "services.yaml").write_text("services: {a: {}}")
    load_library(root, clean=clean, known=lambda *key: before.get(key))
    assert cleaned[5:] == ["# A", "# B2"]


def test_progress_reaches_the_number_of_pages(load: Load) -> None:
    told: list[tuple[int, int]] = []
    load({"a.md": "a", "b.md": "", "c.md": "c"}, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("broken", "audience"),
    [
        ("", None),
        ("---\ntitle: [\n---\nx", None),
        ("---\ntitle: [\naudience: a\n---\nx", ()),
        ("---\ntitle: A\naudience: a\n", ()),
        ("---\naudience: {a: b}\n---\nx", ()),
        ("---\nlast_reviewed: soon\naudience: a\n---\nx", ("a",)),
        ("---\nlast_reviewed: soon\n---\nx", None),
    ],
)
def test_a_refusal_says_what_the_broken_page_says_of_its_audience(
    load: Load, broken: str, audience: tuple[str, ...] | None
) -> None:
    assert load({"a.md": "a", "b.md": broken}).refusals[0].audience == audience
    assert load({"a.md": "a", "b.md": broken.encode("utf-16")}).refusals[0].audience == ()


def test_the_last_good_version_stays_unless_its_access_may_have_changed(page: Page) -> None:
    good = page("---\naudience: a\n---\nx")
    refusal = Refusal("page.md", 1, "broken", "mend it")
    kept = last_good(good, refusal)
    assert kept == replace(good, stale=True)
    narrowed = last_good(good, replace(refusal, audience=("b",)))
    assert narrowed is not None
    assert narrowed.audience == ("a", "b")
    assert last_good(good, replace(refusal, audience=())) is None


def test_titles_of_paths_are_never_empty() -> None:
    for path in ("_.md", "a/..md", "index.md", "--.html.md"):
        assert title_of_path(path).strip()


@given(st.binary(max_size=400))
def test_any_bytes_are_a_page_or_a_refusal(raw: bytes) -> None:
    try:
        runbook = read_page("a.md", raw, clean=keep)
    except UnreadablePage as refusal:
        assert 1 <= refusal.line <= raw.count(b"\n") + raw.count(b"\r") + 1
    else:
        assert runbook.title
        for _, title, line in runbook.headings:
            assert title
            assert runbook.lines(line, line).strip()
