"""The service catalogue: `services.yaml` in the runbook folder, or what the pages themselves name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from bot.errors import ConfigurationError
from bot.library.frontmatter import compose
from bot.library.models import Catalogue, Runbook, Service

CATALOGUE_FILES = ("services.yaml", "services.yml")
_LISTS = ("aliases", "channels")


def catalogue_file(folder: Path) -> Path | None:
    """The catalogue of a runbook folder, if it has one."""
    return next((folder / name for name in CATALOGUE_FILES if (folder / name).is_file()), None)


def load_catalogue(folder: Path) -> Catalogue | None:
    """The catalogue of a runbook folder; None if it has no file. Raises ConfigurationError with the line.

    Services are a mapping by name or a list of entries with a `name`, at the top or below `services:`.
    """
    file = catalogue_file(folder)
    if file is None:
        return None
    try:
        root = compose(file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it can't be read as UTF-8"
        raise ConfigurationError(
            f"the catalogue is not valid YAML: {problem}", where=file, line=mark.line + 1 if mark else 1
        ) from None
    services: list[Service] = []
    taken: dict[str, str] = {}
    for name_node, entry in _entries(root, file):
        service = _service(name_node.value, entry, file)
        for name in (service.name, *service.aliases):
            other = taken.setdefault(name.casefold(), service.name)
            if other != service.name or (name == service.name and any(s.name == name for s in services)):
                raise _fault(file, name_node, f"the name {name!r} stands for {other!r} already", "keep it in one place")
        services.append(service)
    return Catalogue(tuple(services))


def catalogue_of_pages(runbooks: Iterable[Runbook]) -> Catalogue:
    """A catalogue of the services that pages name: names alone, because an owner may be known to fewer readers."""
    names: dict[str, str] = {}
    for runbook in runbooks:
        for name in runbook.services:
            names.setdefault(name.casefold(), name)
    return Catalogue(tuple(Service(name) for _, name in sorted(names.items())), derived=True)


def _entries(root: yaml.Node | None, file: Path) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    """(name, entry) of every service, whichever way the file is written."""
    if root is None:
        return
    if isinstance(root, yaml.MappingNode):
        below = [value for key, value in root.value if key.value == "services"]
        if below and len(root.value) == 1:
            root = below[0]
    if isinstance(root, yaml.ScalarNode) and not root.value:
        return
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            if not isinstance(key, yaml.ScalarNode) or not key.value.strip():
                raise _fault(file, key, "a service needs a name", "write the name as a word")
            yield key, value
    elif isinstance(root, yaml.SequenceNode):
        for entry in root.value:
            name = next((v for k, v in _pairs(entry, file) if k.value == "name"), None)
            if not isinstance(name, yaml.ScalarNode) or not name.value.strip():
                raise _fault(file, entry, "a service needs a name", "add `name:`")
            yield name, entry
    else:
        raise _fault(file, root, "the catalogue is no mapping of services", "see runbooks/services.yaml")


def _pairs(entry: yaml.Node, file: Path) -> list[tuple[yaml.Node, yaml.Node]]:
    if isinstance(entry, yaml.ScalarNode) and entry.value in ("", "~", "null"):
        return []
    if not isinstance(entry, yaml.MappingNode):
        raise _fault(file, entry, "a service is no mapping", "give it `aliases:`, `owner:` and `channels:`")
    pairs: list[tuple[yaml.Node, yaml.Node]] = entry.value
    return pairs


def _service(name: str, entry: yaml.Node, file: Path) -> Service:
    lists: dict[str, tuple[str, ...]] = {}
    owner = ""
    for key, value in _pairs(entry, file):
        field = str(key.value).strip().casefold()
        if field == "name":
            continue
        if field == "owner" and isinstance(value, yaml.ScalarNode):
            owner = "" if value.style is None and value.value in ("~", "null") else value.value.strip()
        elif field in _LISTS:
            lists[field] = _words(value, file)
        else:
            raise _fault(file, key, f"{field!r} can't be read", "a service has aliases, owner and channels")
    return Service(name.strip(), lists.get("aliases", ()), owner, lists.get("channels", ()))


def _words(node: yaml.Node, file: Path) -> tuple[str, ...]:
    if isinstance(node, yaml.ScalarNode):
        return tuple(word for part in node.value.split(",") if (word := part.strip()))
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return tuple(word for item in node.value if (word := item.value.strip()))
    raise _fault(file, node, "this is no list of words", "write it as [one, two]")


def _fault(file: Path, node: yaml.Node, problem: str, fix: str) -> ConfigurationError:
    return ConfigurationError(problem, where=file, line=node.start_mark.line + 1, fix=fix)
