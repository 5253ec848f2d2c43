"""Who may read what: people, places, and every failure closed (DESIGN.md, "Access" and rule 2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.access.decisions import Access, by_audience, needed
from bot.access.models import Place, PlaceKind, Readership
from bot.access.policy import Policy, PolicyFile
from bot.library.models import Runbook

Pages = list[Runbook]
MakePage = Callable[..., Runbook]


def written(path: Path, policy: str, world: Any) -> Access:
    """Access under another policy."""
    path.write_text(policy)
    return Access(PolicyFile(path), world)


def folders(access: Access, readership: Readership, pages: Pages) -> set[str]:
    """What the readership may read, by folder; `decide` must agree with `readable` on every page."""
    readable = access.readable(readership, pages)
    assert readable == {page.path for page in pages if access.decide(readership, page).allowed}
    return {path.split("/")[0] for path in readable}


PEOPLE = {
    "U0BEN": {"open", "guests", "status", "named"},
    "U0ANA": {"open", "guests", "status", "dba", "payments"},
    "U0PIA": {"open", "guests", "status", "payments"},
    "U0GIL": {"guests", "status", "named"},  # a guest, but named as a user
    "U0OLGA": {"status"},  # of another company: in no audience, though named
    "U0ALERTS": set(),  # a bot, though named
    "U0NOBODY": set(),
}


@pytest.mark.parametrize(("user", "reads"), PEOPLE.items())
async def test_a_person_reads_what_their_audiences_allow(
    access: Access, pages: Pages, user: str, reads: set[str]
) -> None:
    readership = await access.of_person(user)
    assert folders(access, readership, pages) == reads
    assert readership.private_to == user
    assert readership.checked
    assert readership.reasons


PLACES = {
    "C0INCIDENTS": {"open", "guests", "status"},
    "C0STOREFRONT": {"guests", "status"},
    "C0PAYMENTS": {"open", "guests", "status", "payments"},
    "C0PARTNER": {"status"},
    "C0RANDOM": set(),
    "C0UNKNOWN": set(),
}


@pytest.mark.parametrize(("channel", "reads"), PLACES.items())
async def test_a_place_shows_what_everybody_there_may_read(
    access: Access, pages: Pages, channel: str, reads: set[str]
) -> None:
    readership = await access.of_place(await access.place(channel))
    assert folders(access, readership, pages) == reads
    assert readership.private_to is None
    assert readership.reasons


ODD_PLACES = [
    (Place("C0PAYMENTS", PlaceKind.GROUP_DM, guests=False), {"open", "guests", "status", "payments"}),
    (Place("C0PAYMENTS", PlaceKind.PRIVATE, guests=True), {"guests", "status"}),  # the guest could not open it
    (Place("C0PAYMENTS", PlaceKind.PRIVATE, guests=False, shared=True), {"status"}),
    (Place("C0PAYMENTS", PlaceKind.PUBLIC, guests=False), {"open", "guests", "status"}),  # made public
    (Place("C0PAYMENTS", PlaceKind.ELSEWHERE, guests=False), set()),
    (Place("C0PAYMENTS", PlaceKind.PRIVATE, guests=False, archived=True), {"open", "guests", "status", "payments"}),
    (Place("C0PAYMENTS", PlaceKind.PRIVATE, guests=False, checked=False), {"status"}),
    (Place("C0NEW", PlaceKind.PRIVATE), {"guests", "status"}),  # nobody looked whether a guest is there
    (Place("D0ANA", PlaceKind.DM, user="U0ANA"), {"open", "guests", "status", "dba", "payments"}),
    (Place("D0ANA", PlaceKind.DM), set()),
]


@pytest.mark.parametrize(("place", "reads"), ODD_PLACES)
async def test_each_fact_of_a_place_counts(access: Access, pages: Pages, place: Place, reads: set[str]) -> None:
    readership = await access.of_place(place)
    assert folders(access, readership, pages) == reads
    assert readership.checked is place.checked


async def test_a_guest_in_a_private_channel_is_not_in_its_audience(access: Access, world: Any, pages: Pages) -> None:
    world.world.channel("C0PAYMENTS").members.add("U0GIL")
    assert "payments" not in folders(access, await access.of_person("U0GIL"), pages)
    assert "payments" not in folders(access, await access.of_place(await access.place("C0PAYMENTS")), pages)
    assert "payments" in folders(access, await access.of_person("U0PIA"), pages), "members stay in it"


async def test_a_guest_in_a_user_group_is_in_its_audience(access: Access, world: Any, pages: Pages) -> None:
    world.world.group("dba-oncall").members.add("U0GIL")
    assert folders(access, await access.of_person("U0GIL"), pages) == {"guests", "status", "named", "dba"}


async def test_an_outsider_in_a_user_group_is_in_none(access: Access, world: Any, pages: Pages) -> None:
    world.world.group("dba-oncall").members.add("U0OLGA")
    assert folders(access, await access.of_person("U0OLGA"), pages) == {"status"}


@pytest.mark.parametrize("change", [{"ext_shared": True}, {"pending_shared": True}, {"kind": "channel"}])
async def test_an_audience_by_a_channel_that_is_not_private_grants_nothing_and_is_reported(
    access: Access, world: Any, pages: Pages, caplog: pytest.LogCaptureFixture, change: dict[str, Any]
) -> None:
    for name, value in change.items():
        setattr(world.world.channel("C0PAYMENTS"), name, value)
    with caplog.at_level(logging.WARNING):
        readership = await access.of_person("U0PIA")
    assert folders(access, readership, pages) == {"open", "guests", "status"}
    assert readership.checked, "this is an answer, not a failure"
    assert any("grants nothing" in reason for reason in readership.reasons)
    assert "C0PAYMENTS" in caplog.text


async def test_a_deactivated_member_reads_nothing(access: Access, world: Any, pages: Pages) -> None:
    world.world.user("U0ANA").deleted = True
    assert folders(access, await access.of_person("U0ANA"), pages) == set()


async def test_a_disabled_group_is_empty(access: Access, world: Any, pages: Pages) -> None:
    world.world.group("dba-oncall").disabled = True
    assert "dba" not in folders(access, await access.of_person("U0ANA"), pages)


# --- failures -----------------------------------------------------------------------------------------------------


async def test_groups_that_cannot_be_asked_count_as_not_in_them(access: Access, world: Any, pages: Pages) -> None:
    world.down = {"usergroup", "channel"}
    readership = await access.of_person("U0ANA")
    assert folders(access, readership, pages) == {"open", "guests", "status"}
    assert not readership.checked


async def test_being_named_needs_no_look_up(access: Access, world: Any, pages: Pages) -> None:
    world.down = {"usergroup", "channel", "place"}
    readership = await access.of_person("U0GIL")
    assert "named" in folders(access, readership, pages)


async def test_one_way_in_is_enough_while_another_fails(policy_path: Path, world: Any) -> None:
    access = written(
        policy_path, "audiences:\n  a: {usergroups: [dba-oncall], channels: [C0PAYMENTS]}\ndefault: a\n", world
    )
    world.down = {"channel"}
    readership = await access.of_person("U0ANA")
    assert "a" in readership.audiences
    assert readership.checked, "nothing that failed could have changed this"
    readership = await access.of_person("U0BEN")
    assert "a" not in readership.audiences
    assert not readership.checked


async def test_a_person_of_whom_nothing_is_known_reads_public_pages_only(
    access: Access, world: Any, pages: Pages
) -> None:
    world.down = {"person"}
    readership = await access.of_person("U0ANA")
    assert folders(access, readership, pages) == {"status"}
    assert not readership.checked


async def test_a_known_full_member_stays_one_for_open_pages_only(access: Access, world: Any, pages: Pages) -> None:
    world.down, world.remembers = {"person"}, True
    for user in ("U0ANA", "U0BEN"):
        readership = await access.of_person(user, fresh=True)
        assert folders(access, readership, pages) == {"open", "guests", "status"}
        assert not readership.checked


async def test_a_known_guest_does_not_stay_one(access: Access, world: Any, pages: Pages) -> None:
    world.down, world.remembers = {"person"}, True
    assert folders(access, await access.of_person("U0GIL"), pages) == {"status"}
    assert folders(access, await access.of_person("U0ALERTS"), pages) == set()


@pytest.mark.parametrize("channel", ["C0INCIDENTS", "C0PAYMENTS", "C0PARTNER", "G0OLD"])
async def test_a_place_that_cannot_be_asked_about_shows_public_pages_only(
    access: Access, world: Any, pages: Pages, channel: str
) -> None:
    world.down = {"place"}
    readership = await access.of_place(await access.place(channel))
    assert folders(access, readership, pages) == {"status"}
    assert not readership.checked


async def test_a_direct_message_that_cannot_be_asked_about_shows_nothing(
    access: Access, world: Any, pages: Pages
) -> None:
    world.down = {"place"}
    readership = await access.of_place(await access.place("D0ANA"))
    assert folders(access, readership, pages) == set()
    assert not readership.checked


async def test_presence_is_false_while_it_cannot_be_asked(access: Access, world: Any) -> None:
    assert await access.present("U0PIA", "C0PAYMENTS")
    assert not await access.present("U0BEN", "C0PAYMENTS")
    world.down = {"channel"}
    assert not await access.present("U0PIA", "C0PAYMENTS")


# --- what is asked ------------------------------------------------------------------------------------------------


async def test_a_click_asks_afresh_and_only_what_the_page_needs(access: Access, world: Any, page: MakePage) -> None:
    assert (await access.may_open("U0ANA", page("dba/a.md"))).allowed
    assert world.asked == [("person", "U0ANA", True), ("usergroup", "dba-oncall", True)]
    world.asked.clear()
    assert (await access.may_open("U0ANA", page("open/a.md"))).allowed
    assert world.asked == [("person", "U0ANA", True)]


async def test_nobody_is_looked_up_in_groups_for_people_whom_no_group_helps(access: Access, world: Any) -> None:
    await access.of_person("U0OLGA")
    await access.of_person("U0ALERTS")
    assert {what for what, _, _ in world.asked} == {"person"}


async def test_look_ups_of_one_decision_run_at_the_same_time(policy_path: Path, world: Any) -> None:
    groups = [f"group-{number}" for number in range(8)]
    access = written(policy_path, f"audiences:\n  a: {{usergroups: [{', '.join(groups)}]}}\ndefault: a\n", world)
    together, everybody = 0, asyncio.Event()

    async def usergroup_members(group: str, *, fresh: bool = False) -> frozenset[str]:
        nonlocal together
        together += 1
        if together == len(groups):
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 5)
        return frozenset()

    world.usergroup_members = usergroup_members
    readership = await access.of_person("U0ANA")
    assert "a" not in readership.audiences
    assert readership.checked


# --- pages --------------------------------------------------------------------------------------------------------


async def test_a_page_of_its_own_audience_needs_both(access: Access, page: MakePage) -> None:
    ana = await access.of_person("U0ANA")
    assert access.decide(ana, page("open/a.md", ("dba",))).allowed
    assert access.decide(ana, page("open/a.md", ("dba", "payments"))).allowed
    assert access.decide(ana, page("dba/a.md", ("payments",))).allowed
    assert not access.decide(ana, page("dba/a.md", ("named",))).allowed
    ben = await access.of_person("U0BEN")
    assert not access.decide(ben, page("dba/a.md", ("public",))).allowed, "front matter never widens"


async def test_an_unknown_or_empty_audience_closes_the_page(access: Access, page: MakePage) -> None:
    everybody = Readership(frozenset({"members", "workspace", "public", "dba", "payments", "named", "nobody", "dbx"}))
    for own in (("dbx",), ("members", "dbx"), (), ("nobody",), ("DBA",)):
        closed = page("open/a.md", own)
        assert access.closed(closed)
        assert not access.decide(everybody, closed).allowed
        assert not access.readable(everybody, [closed])
    assert access.closed(page("closed/a.md"))
    assert not access.closed(page("dba/a.md"))
    assert not access.closed(page("open/a.md", ("public",)))


def test_an_audience_that_names_nobody_is_closed(page: MakePage, policy_path: Path, world: Any) -> None:
    access = written(policy_path, "audiences:\n  parked: {users: []}\ndefault: parked\n", world)
    assert access.closed(page("a.md"))


async def test_the_reasons_tell_the_rule_and_the_look_up(access: Access, page: MakePage) -> None:
    assert (await access.may_open("U0BEN", page("payments/refunds.md"))).reasons == (
        "access.yaml:7: payments/** is for payments",
        "U0BEN is a full member: members, workspace and public runbooks",
        "payments: U0BEN is not in the channel C0PAYMENTS",
        "not allowed: not in payments",
    )
    assert (await access.may_open("U0PIA", page("payments/refunds.md"))).reasons[-2:] == (
        "payments: U0PIA is in the channel C0PAYMENTS",
        "allowed",
    )
    reasons = (await access.may_open("U0PIA", page("open/a.md", ("dbx",)))).reasons
    assert "dbx: no such audience, which closes the page" in reasons


async def test_each_decision_is_logged_with_who_what_and_why(
    access: Access, page: MakePage, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="bot.access"):
        await access.may_open("U0BEN", page("payments/refunds.md"))
    assert "U0BEN" in caplog.text
    assert "payments/refunds.md" in caplog.text
    assert "not in the channel C0PAYMENTS" in caplog.text


async def test_named_audiences_of_an_older_policy_do_not_count(
    access: Access, pages: Pages, policy_path: Path, policy_text: str, world: Any
) -> None:
    readership = await access.of_person("U0ANA")
    assert "dba" in folders(access, readership, pages)
    written(policy_path, policy_text.replace("usergroups: [dba-oncall]", "users: [U0BEN]"), world)
    assert folders(access, readership, pages) == {"open", "guests", "status"}


async def test_without_a_policy_members_read_everything(world: Any, pages: Pages) -> None:
    access = Access(lambda: Policy.MEMBERS_ONLY, world)
    assert len(access.readable(await access.of_person("U0BEN"), pages)) == len(pages)
    assert not access.readable(await access.of_person("U0GIL"), pages)
    assert not access.readable(await access.of_place(await access.place("C0PARTNER")), pages)


def test_pages_are_listed_by_audience(access: Access, pages: Pages, page: MakePage) -> None:
    both, closed = page("open/both.md", ("dba",)), page("open/typo.md", ("dbx",))
    listed = by_audience(access.policy, [*pages, both, closed])
    assert listed["members"] == ["open/a.md"]
    assert listed["members and dba"] == ["open/both.md"]
    assert listed["nobody"] == ["closed/a.md", "open/typo.md"]
    assert needed(access.policy, both) == ("members", "dba")
