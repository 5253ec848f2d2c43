"""The catalogue: every way of writing it is read, every fault is said with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.library.catalogue import load_catalogue
from bot.library.models import Service

Folder = Callable[..., Path]
DB = Service("db", ("postgres", "no"), "@dba", ("C1",))


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  - name: db\n    aliases: [postgres, no]\n    owner: @dba\n    channels: [C1]\n  - name: '7'\n",
        "services:\n  db:\n    aliases: postgres, no\n    owner: '@dba'\n    channels: C1\n  7:\n",
        "db:\n  aliases:\n    - postgres\n    - no\n  owner: @dba\n  channels: [C1]\n7: {}\n",
        "- name: db\n  aliases: [postgres, no]\n  owner: @dba\n  channels: [C1]\n- name: 7\n",
        "\ufeffservices:\r\n  db: {aliases: [postgres, no], owner: '@dba', channels: [C1]}\r\n  7: ~\r\n",
    ],
)
def test_every_way_of_writing_it_says_the_same(folder: Folder, text: str) -> None:
    catalogue = load_catalogue(folder({"services.yaml": text}))
    assert catalogue is not None
    assert catalogue.services == (DB, Service("7"))
    assert catalogue.find(" Postgres ") == DB
    assert catalogue.of_channel("#c1") == DB
    assert not catalogue.derived


@pytest.mark.parametrize("text", ["", "services:\n", "# nothing\n", "services: []\n"])
def test_a_file_without_services_is_an_empty_catalogue(folder: Folder, text: str) -> None:
    catalogue = load_catalogue(folder({"services.yml": text}))
    assert catalogue is not None
    assert catalogue.services == ()


def test_no_file_is_no_catalogue(folder: Folder) -> None:
    assert load_catalogue(folder({"a.md": "x"})) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("services:\n  db: [\n", 3),
        ("services:\n  - aliases: [a]\n", 2),
        ("services:\n  db:\n    alias: [a]\n", 3),
        ("services:\n  db:\n    aliases: {a: b}\n", 3),
        ("services:\n  db:\n    owner: [a]\n", 3),
        ("services:\n  db: {aliases: [a]}\n  web: {aliases: [A]}\n", 3),
        ("services:\n  db: {}\n  web: {aliases: [db]}\n", 3),
        ("services:\n  - name: db\n  - name: db\n", 3),
        ("services: words\n", 1),
        ("db: words\n", 1),
        (b"services:\n  caf\xe9: {}\n", 1),
    ],
)
def test_a_fault_is_said_with_its_line(folder: Folder, text: str | bytes, line: int) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_catalogue(folder({"services.yaml": text}))
    assert caught.value.line == line
    assert caught.value.where.endswith("services.yaml")
