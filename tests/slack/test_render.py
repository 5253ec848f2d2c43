"""Cards within Slack's limits, nothing lost in silence, commands byte for byte (cases 30 and 31)."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.answering.models import Answer, Check, Citation, Incident, Match, NoAnswer
from bot.library.models import Runbook
from bot.records.answers import Target
from bot.slack import rich
from bot.slack.markup import escape
from bot.slack.modals import SECTION, page_card, page_view
from bot.slack.render import button, card, note, taken_back, targets
from bot.workspace.limits import block_problems, text_length, view_problems

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
LONG = st.one_of(TEXT, st.builds(lambda text, times: text * times, TEXT, st.integers(1, 40)))


def citation(**changes: Any) -> Citation:
    given = {"runbook": "a/b.md", "title": "Pool", "start_line": 3, "end_line": 5, "quote": "look", "passage": "p1"}
    return Citation(**{**given, **changes})


def answer(*checks: Check, **changes: Any) -> Answer:
    return Answer(**{"incident": Incident(summary="s", service="checkout"), "checks": checks, **changes})


@st.composite
def checks(draw: st.DrawFn) -> Check:
    at = citation(
        runbook=draw(st.sampled_from(["a.md", "b.md", "c/d.md"]) | TEXT.filter(bool)),
        title=draw(LONG),
        quote=draw(LONG),
        url=draw(st.none() | st.just("https://runbooks.example/" + "x" * draw(st.integers(0, 4000)))),
    )
    return Check(text=draw(LONG), command=draw(st.none() | LONG), changes=draw(st.booleans()), citation=at)


@settings(max_examples=150, deadline=None)
@given(st.lists(checks(), min_size=1, max_size=60), LONG, st.lists(LONG, max_size=9), LONG, LONG)
def test_any_answer_is_a_card_that_slack_takes(
    made: list[Check], explanation: str, notices: list[str], owner: str, service: str
) -> None:
    outcome = answer(
        *made,
        incident=Incident(summary="s", service=service or None),
        explanation=explanation,
        notices=tuple(notices),
        owner=owner or None,
        written_by=owner or "quoted",
    )
    shown = card(outcome)
    assert block_problems(list(shown.blocks)) == ()
    assert len(shown.blocks) <= 50 and text_length(list(shown.blocks)) <= 12_000
    assert 0 < len(shown.text) <= 4_000
    assert json.dumps(shown.blocks).encode("ascii")
    for block in taken_back("id", len(targets(outcome))).blocks:
        assert block_problems([block]) == ()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted({"nothing_found", "search_unavailable", "not_allowed"})), LONG, LONG, st.booleans())
def test_any_refusal_is_a_card_that_slack_takes(reason: Any, words: str, owner: str, near: bool) -> None:
    closest = Match(
        id="p",
        runbook="a.md",
        title=words,
        service=None,
        score=0.3,
        start_line=1,
        end_line=2,
        start_index=0,
        excerpt=words,
        route="r",
    )
    incident = Incident(summary=words, service=words or None)
    shown = card(
        NoAnswer(
            incident=incident, reason=reason, owner=owner or None, notices=(words,), closest=closest if near else None
        )
    )
    assert block_problems(list(shown.blocks)) == () and shown.text


@settings(max_examples=200, deadline=None)
@given(LONG, st.integers(1, 500))
def test_a_cut_is_within_the_limit_and_divides_nothing(text: str, most: int) -> None:
    short = rich.cut(text, most)
    assert len(short) <= most and (short == text or short.endswith("…"))


@pytest.mark.parametrize("joined", ["👩‍👩‍👧‍👦", "👍🏽", "🇪🇺", "é", "1️⃣"])
def test_a_cut_divides_no_emoji(joined: str) -> None:
    for most in range(1, 30):
        short = rich.cut("x" * 7 + joined * 5, most).removesuffix("…")
        assert short.replace(joined, "").strip("x") == ""


@settings(max_examples=200, deadline=None)
@given(st.text("&<>;amp lt", max_size=4000))
def test_escaping_is_undone_to_the_same_and_cut_between_entities(text: str) -> None:
    assert html.unescape(escape(text)) == text
    shown = note(text).blocks[0]["text"]["text"]
    assert len(shown) <= 3_000 and html.unescape(shown).rstrip("…").strip() in text.strip() + " "


def test_what_does_not_fit_is_counted() -> None:
    made = [
        Check(text=f"MARKER{n} " + "look at the replica, " * 60, command=None, citation=citation()) for n in range(60)
    ]
    shown = json.dumps(card(answer(*made)).blocks, ensure_ascii=False)
    there = sum(f"MARKER{n} " in shown for n in range(60))
    assert 0 < there < 60 and f"{60 - there} more checks did not fit" in shown


def test_case_30_sixty_checks_of_a_model_and_a_title_of_220_characters(shared: Path) -> None:
    case = shared / "cases" / "30-unpostable-blocks"
    said = json.loads((case / "model-output.json").read_text())["checks"]
    title = (case / "input" / "long-title.md").read_text().split("title: ")[1].split("\n")[0]
    made = [Check(text=c.get("text") or "", command=c.get("command"), citation=citation(title=title)) for c in said]
    shown = card(answer(*made))
    assert block_problems(list(shown.blocks)) == () and "MARKER30-LONG" in json.dumps(shown.blocks)
    assert len(shown.text) <= 4_000 and shown.text.startswith("59 checks from Replica lag")


def test_a_command_is_shown_whole_or_not_at_all() -> None:
    fits, huge = "echo 'a  b' && x" * 100, "y" * 4_000
    [first] = [b for b in card(answer(Check(text="t", command=fits, citation=citation()))).blocks if "elements" in b][
        1:2
    ]
    assert first["elements"][1]["elements"][0]["text"] == fits
    shown = json.dumps(card(answer(Check(text="t", command=huge, citation=citation()))).blocks)
    assert "yyyy" not in shown and "too long" in shown


def test_changes_are_marked_and_links_follow_the_setting() -> None:
    outcome = answer(
        Check(text="restart it", command=None, changes=True, citation=citation(url="https://r.example/a?b=1&c"))
    )
    direct, only_open = json.dumps(card(outcome).blocks), json.dumps(card(outcome, direct_links=False).blocks)
    assert "[changes something]" in direct and "https://r.example/a?b=1&c" in direct and "https://" not in only_open


def test_mentions_in_foreign_words_are_inactive() -> None:
    hostile = "<!channel> <@U0BEN> <https://evil.example|click> *bold* :fire:"
    outcome = NoAnswer(
        incident=Incident(summary="", service=hostile), reason="nothing_found", owner=hostile, notices=(hostile,)
    )
    shown = card(outcome)
    assert "<!" not in json.dumps(shown.blocks) and "<@" not in json.dumps(shown.blocks)
    made = card(answer(Check(text=hostile, command=hostile, citation=citation(title=hostile)), owner=hostile))
    assert not any(
        e["type"] in ("user", "broadcast", "usergroup")
        for b in made.blocks
        for x in b.get("elements", ())
        for e in x.get("elements", ())
    )
    assert "<!" not in made.text


# --- pages (case 31) ----------------------------------------------------------------------------------------


@pytest.fixture
def commands(shared: Path) -> tuple[Runbook, list[str]]:
    case = shared / "cases" / "31-mrkdwn-corrupts-commands"
    text = (case / "input" / "commands.md").read_text()
    line = text.split("\n").index("# Commands with odd characters") + 1
    page = Runbook(path="commands.md", title="Commands with odd characters", text=text, version="1", body_line=line)
    return page, [line for line in (case / "commands.txt").read_text().split("\n") if line]


def codes(blocks: Any) -> list[str]:
    found = []
    for block in blocks:
        for element in block.get("elements", ()):
            inner = element.get("elements", ())
            inner = [e for section in inner for e in section.get("elements", [section])]
            if element["type"] == "rich_text_preformatted":
                found.append("".join(e["text"] for e in inner))
            found += [e["text"] for e in inner if e.get("style", {}).get("code")]
    return found


def test_case_31_an_opened_page(commands: tuple[Runbook, list[str]]) -> None:
    page, wanted = commands
    shown = page_card(page, opens=button("Open", "open_0", "id:0"), url=None)
    assert block_problems(list(shown.blocks)) == ()
    for command in wanted:
        assert any(command in code.split("\n") for code in codes(shown.blocks)), command
    elements = [e for b in shown.blocks if b["type"] == "rich_text" for x in b["elements"] for e in x["elements"]]
    assert {"type": "text", "text": "First", "style": {"bold": True}} in elements
    assert {"type": "link", "url": "https://grafana.example.com/d/1?a=1&b=2", "text": "the graph"} in elements
    assert any(e.get("text") == " for R&D in snake_case_name and *.log files." and "style" not in e for e in elements)
    assert shown.blocks[0]["elements"][0]["elements"] == [{"type": "text", "text": page.title, "style": {"bold": True}}]
    assert "flag | meaning\n-----+--------\n-x   | a | b" in codes(shown.blocks)
    assert not any(code.strip() in ("bash", "sh") for code in codes(shown.blocks))


def test_case_31_a_cited_check(commands: tuple[Runbook, list[str]]) -> None:
    _, wanted = commands
    made = [Check(text="R&D and snake_case_name", command=command, citation=citation()) for command in wanted]
    assert [c for c in codes(card(answer(*made)).blocks) if c in wanted] == wanted


LINES = """# Title|## Part|text **bold** `code`|- one|  - two|1. first|```sh|```|> quoted|---||   indented|<b>html</b>
![x](http://i)|[l](javascript:x)|* * *""".replace("\n", "|").split("|")
TABLE = ["| a | b |", "| --- | --- |", "| 1 |"]
MARKDOWN = st.lists(st.sampled_from([*LINES, *TABLE, "word " * 90, "word " * 400]), max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    MARKDOWN,
    st.integers(1, 300),
    st.sampled_from([SECTION, "0", "1", "7"]),
    st.integers(1, 6),
    st.sampled_from(["Title", "T" * 300]),
)
def test_any_page_is_a_modal_that_slack_takes(lines: list[str], start: int, part: str, times: int, title: str) -> None:
    page = Runbook(path="a.md", title=title, text="\n".join(lines * times), version="1")
    view = page_view(page, Target("a.md", start, start + 2), part, record="id", index=0, url="https://r.example/")
    assert view_problems(view) == () and text_length(view["blocks"]) < 13_000
    shown = page_card(page, opens=button("Open", "open_0", "id:0"), url=None)
    assert block_problems(list(shown.blocks)) == () and text_length(list(shown.blocks)) < 12_000


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=3_000))
def test_no_text_breaks_the_reading_of_a_page(text: str) -> None:
    page = Runbook(path="a.md", title="T", text=text, version="1")
    assert view_problems(page_view(page, Target("a.md"), "0", record="id", index=0, url=None)) == ()


def test_every_line_of_code_of_a_long_page_is_in_exactly_one_part() -> None:
    lines = [f"kubectl get pods -n team-{n} --selector 'app in (a,b)' # & <{n}>" for n in range(700)]
    text = "# Long\n\n" + "\n\n".join(
        "## Step\n\n```sh\n" + "\n".join(lines[n : n + 35]) + "\n```" for n in range(0, 700, 35)
    )
    page = Runbook(path="a.md", title="Long", text=text, version="1")
    found: list[str] = []
    part: str | None = "0"
    while part is not None:
        view = page_view(page, Target("a.md", 1, 1), part, record="id", index=0, url=None)
        assert view_problems(view) == ()
        found += [line for code in codes(view["blocks"]) for line in code.split("\n")]
        buttons = [e for b in view["blocks"] if b["type"] == "actions" for e in b["elements"]]
        part = next((e["value"].rsplit(":")[-1] for e in buttons if e["text"]["text"] == "Show more"), None)
    assert found == lines


def test_a_page_whose_section_is_all_of_it_has_no_buttons_and_a_short_one_opens_at_its_section() -> None:
    one = Runbook(path="a.md", title="One", text="# One\n\nlook\n\nfirst\n", version="1")
    whole = json.dumps(page_view(one, Target("a.md", 3, 3), SECTION, record="id", index=0, url=None))
    assert "actions" not in whole and "look" in whole and "first" in whole
    two = Runbook(path="a.md", title="Two", text="# Two\n\nlook\n\n## Checks\n\nfirst\n", version="1")
    part = json.dumps(page_view(two, Target("a.md", 7, 7), SECTION, record="id", index=0, url=None))
    assert "first" in part and "look" not in part and "Show the whole page" in part


def test_the_cited_section_opens_first() -> None:
    text = "# Long\n\n" + "".join(f"## Part {n}\n\n{'word ' * 150}MARK{n}\n\n" for n in range(40))
    page = Runbook(path="a.md", title="Long", text=text, version="1")
    line = text.split("\n").index(next(t for t in text.split("\n") if "MARK23" in t)) + 1
    shown = json.dumps(page_view(page, Target("a.md", line, line), SECTION, record="id", index=0, url=None))
    assert "MARK23" in shown and "MARK22" not in shown and "Show the whole page" in shown and "Show more" in shown
