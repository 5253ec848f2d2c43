"""What Slack accepts as blocks and views, and how it says no: `[ERROR] … [json-pointer:/blocks/0/text/text]`.

From the Block Kit reference and shared observation (PROTOCOL "Output"): unknown types and keys, missing or empty
texts, lengths, counts, duplicate ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

MAX_BLOCKS = {"message": 50, "modal": 100, "home": 100}
MAX_MESSAGE_CHARS = 13_000
"""Of all texts of one message's blocks together; more is `msg_blocks_too_long`."""

_BLOCK_KEYS: dict[str, frozenset[str]] = {
    "section": frozenset({"text", "fields", "accessory", "expand"}),
    "header": frozenset({"text", "level"}),
    "divider": frozenset(),
    "context": frozenset({"elements"}),
    "actions": frozenset({"elements"}),
    "image": frozenset({"image_url", "slack_file", "alt_text", "title"}),
    "input": frozenset({"label", "element", "dispatch_action", "hint", "optional"}),
    "rich_text": frozenset({"elements"}),
    "markdown": frozenset({"text"}),
    "context_actions": frozenset({"elements"}),
}
_SURFACES = {
    "input": {"modal", "home"},
    "markdown": {"message"},
    "context_actions": {"message"},
}
_TEXT_KEYS = {"mrkdwn": {"type", "text", "verbatim"}, "plain_text": {"type", "text", "emoji"}}
_ELEMENTS: dict[str, frozenset[str]] = {
    "button": frozenset({"text", "value", "url", "style", "confirm", "accessibility_label"}),
    "static_select": frozenset(
        {"options", "option_groups", "placeholder", "initial_option", "confirm", "focus_on_load"}
    ),
    "overflow": frozenset({"options", "confirm"}),
    "checkboxes": frozenset({"options", "initial_options", "confirm", "focus_on_load"}),
    "radio_buttons": frozenset({"options", "initial_option", "confirm", "focus_on_load"}),
    "plain_text_input": frozenset(
        {"initial_value", "multiline", "min_length", "max_length", "placeholder", "dispatch_action_config"}
        | {"focus_on_load"}
    ),
    "image": frozenset({"image_url", "alt_text", "slack_file"}),
    "feedback_buttons": frozenset({"positive_button", "negative_button"}),
    "icon_button": frozenset({"icon", "text", "value", "confirm", "accessibility_label", "visible_to_user_ids"}),
}
_RICH = {"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"}
_RICH_LEAVES = {"text", "link", "user", "usergroup", "channel", "emoji", "broadcast", "date", "color", "team"}


def block_problems(blocks: object, surface: str = "message", at: str = "/blocks") -> tuple[str, ...]:
    """Every reason why Slack would refuse these blocks; empty when it would take them."""
    return tuple(_blocks(blocks, surface, at))


def view_problems(view: object) -> tuple[str, ...]:
    """Every reason why Slack would refuse this modal or Home view."""
    return tuple(_view(view))


def text_length(blocks: object) -> int:
    """Characters of all texts of some blocks together."""
    if isinstance(blocks, dict):
        own = len(blocks["text"]) if isinstance(blocks.get("text"), str) else 0
        return own + sum(text_length(value) for value in blocks.values() if isinstance(value, dict | list))
    if isinstance(blocks, list):
        return sum(text_length(item) for item in blocks)
    return 0


def _error(what: str, at: str) -> str:
    return f"[ERROR] {what} [json-pointer:{at}]"


def _length(value: object, at: str, most: int, *, least: int = 1) -> Iterator[str]:
    if not isinstance(value, str):
        yield _error("must be a string", at)
    elif len(value) > most:
        yield _error(f"must be less than {most + 1} characters", at)
    elif len(value) < least:
        yield _error(f"must be more than {least - 1} characters", at)


def _keys(given: Json, allowed: frozenset[str] | set[str], at: str) -> Iterator[str]:
    for key in sorted(given.keys() - allowed):
        yield _error(f"invalid additional property: {key}", at)


def _text(value: object, at: str, most: int, *, plain: bool = False) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _error("missing required field: text", at)
        return
    kind = value.get("type")
    if kind not in _TEXT_KEYS or (plain and kind != "plain_text"):
        yield _error("unsupported type: " + str(kind), at + "/type")
        return
    yield from _keys(value, _TEXT_KEYS[kind], at)
    yield from _length(value.get("text"), at + "/text", most)


def _list(value: object, at: str, most: int, *, least: int = 1) -> Iterator[str]:
    if not isinstance(value, list):
        yield _error("must be an array", at)
    elif len(value) > most:
        yield _error(f"no more than {most} items allowed", at)
    elif len(value) < least:
        yield _error(f"no fewer than {least} items allowed", at)


def _blocks(blocks: object, surface: str, at: str) -> Iterator[str]:
    yield from _list(blocks, at, MAX_BLOCKS[surface], least=0)
    if not isinstance(blocks, list):
        return
    ids: set[str] = set()
    actions: set[tuple[str, str]] = set()
    markdown = 0
    for index, block in enumerate(blocks):
        here = f"{at}/{index}"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in _BLOCK_KEYS or surface not in _SURFACES.get(kind, MAX_BLOCKS):
            yield _error(f"unsupported type: {kind}", here + "/type")
            continue
        yield from _keys(block, _BLOCK_KEYS[kind] | {"type", "block_id"}, here)
        block_id = block.get("block_id")
        if block_id is not None:
            yield from _length(block_id, here + "/block_id", 255)
            if block_id in ids:
                yield _error(f'"{block_id}" already exists', here + "/block_id")
            ids.add(block_id)
        yield from _block(kind, block, here)
        if kind == "markdown":
            markdown += len(str(block.get("text", "")))
            if markdown > 12_000:
                yield _error("must be less than 12001 characters", here + "/text")
        for element in elements_of(block):
            key = (str(block_id or index), str(element.get("action_id")))
            if element.get("action_id") is not None and key in actions:
                yield _error(f'"{element["action_id"]}" already exists', here)
            actions.add(key)


def elements_of(block: Json) -> list[Json]:
    """The interactive elements of a block, wherever they stand in it."""
    found = [*block.get("elements", ())] if block.get("type") in ("actions", "context_actions") else []
    found += [block[key] for key in ("accessory", "element") if isinstance(block.get(key), dict)]
    return [element for element in found if isinstance(element, dict)]


def _block(kind: str, block: Json, at: str) -> Iterator[str]:
    match kind:
        case "section":
            if "text" not in block and "fields" not in block:
                yield _error("missing required field: text", at)
            if "text" in block:
                yield from _text(block["text"], at + "/text", 3000)
            if "fields" in block:
                yield from _list(block["fields"], at + "/fields", 10)
                for index, one in enumerate(block["fields"] if isinstance(block["fields"], list) else ()):
                    yield from _text(one, f"{at}/fields/{index}", 2000)
            if "accessory" in block:
                yield from _element(block["accessory"], at + "/accessory")
        case "header":
            yield from _text(block.get("text"), at + "/text", 150, plain=True)
        case "context":
            yield from _list(block.get("elements"), at + "/elements", 10)
            for index, one in enumerate(block.get("elements") or ()):
                here = f"{at}/elements/{index}"
                if isinstance(one, dict) and one.get("type") == "image":
                    yield from _element(one, here)
                else:
                    yield from _text(one, here, 3000)
        case "actions":
            yield from _list(block.get("elements"), at + "/elements", 25)
            for index, one in enumerate(block.get("elements") or ()):
                yield from _element(one, f"{at}/elements/{index}")
        case "context_actions":
            yield from _list(block.get("elements"), at + "/elements", 5)
            for index, one in enumerate(block.get("elements") or ()):
                yield from _element(one, f"{at}/elements/{index}")
        case "image":
            yield from _length(block.get("image_url"), at + "/image_url", 3000)
            yield from _length(block.get("alt_text"), at + "/alt_text", 2000, least=0)
            if "title" in block:
                yield from _text(block["title"], at + "/title", 2000, plain=True)
        case "input":
            yield from _text(block.get("label"), at + "/label", 2000, plain=True)
            yield from _element(block.get("element"), at + "/element")
            if "hint" in block:
                yield from _text(block["hint"], at + "/hint", 2000, plain=True)
        case "markdown":
            yield from _length(block.get("text"), at + "/text", 12_000)
        case "rich_text":
            yield from _list(block.get("elements"), at + "/elements", 1000)
            for index, one in enumerate(block.get("elements") or ()):
                yield from _rich(one, f"{at}/elements/{index}")


def _rich(element: object, at: str) -> Iterator[str]:
    kind = element.get("type") if isinstance(element, dict) else None
    if not isinstance(element, dict) or kind not in _RICH:
        yield _error(f"unsupported type: {kind}", at + "/type")
        return
    allowed = {"type", "elements", "border"} | ({"style", "indent", "offset"} if kind == "rich_text_list" else set())
    yield from _keys(element, allowed | ({"language"} if kind == "rich_text_preformatted" else set()), at)
    inside = element.get("elements")
    yield from _list(inside, at + "/elements", 1000, least=0)
    for index, one in enumerate(inside if isinstance(inside, list) else ()):
        here = f"{at}/elements/{index}"
        leaf = one.get("type") if isinstance(one, dict) else None
        if kind == "rich_text_list":
            if leaf != "rich_text_section":
                yield _error(f"unsupported type: {leaf}", here + "/type")
            else:
                yield from _rich(one, here)
        elif leaf not in _RICH_LEAVES or (kind == "rich_text_preformatted" and leaf not in ("text", "link")):
            yield _error(f"unsupported type: {leaf}", here + "/type")
        elif leaf == "text":
            yield from _length(one.get("text"), here + "/text", 1_000_000)
        elif leaf == "link":
            yield from _length(one.get("url"), here + "/url", 3000)


def _options(element: Json, at: str, most: int) -> Iterator[str]:
    options = element.get("options")
    yield from _list(options, at + "/options", most)
    for index, option in enumerate(options if isinstance(options, list) else ()):
        here = f"{at}/options/{index}"
        if not isinstance(option, dict):
            yield _error("must be an object", here)
            continue
        yield from _text(option.get("text"), here + "/text", 75)
        yield from _length(option.get("value"), here + "/value", 150)


def _element(element: object, at: str) -> Iterator[str]:
    kind = element.get("type") if isinstance(element, dict) else None
    if not isinstance(element, dict) or kind not in _ELEMENTS:
        yield _error(f"unsupported type: {kind}", at + "/type")
        return
    yield from _keys(element, _ELEMENTS[kind] | {"type", "action_id"}, at)
    if "action_id" in element:
        yield from _length(element["action_id"], at + "/action_id", 255)
    match kind:
        case "button":
            yield from _text(element.get("text"), at + "/text", 75, plain=True)
            if "value" in element:
                yield from _length(element["value"], at + "/value", 2000)
            if "url" in element:
                yield from _length(element["url"], at + "/url", 3000)
            if element.get("style", "primary") not in ("primary", "danger"):
                yield _error("must be one of: primary, danger", at + "/style")
        case "static_select":
            if "placeholder" in element:
                yield from _text(element["placeholder"], at + "/placeholder", 150, plain=True)
            if "option_groups" not in element:
                yield from _options(element, at, 100)
        case "overflow":
            yield from _options(element, at, 5)
        case "checkboxes" | "radio_buttons":
            yield from _options(element, at, 10)
        case "plain_text_input":
            yield from _length(element.get("initial_value", ""), at + "/initial_value", 3000, least=0)
        case "image":
            yield from _length(element.get("image_url"), at + "/image_url", 3000)
            yield from _length(element.get("alt_text"), at + "/alt_text", 2000, least=0)
        case "feedback_buttons":
            for key in ("positive_button", "negative_button"):
                button = element.get(key)
                if not isinstance(button, dict):
                    yield _error(f"missing required field: {key}", at)
                    continue
                yield from _text(button.get("text"), f"{at}/{key}/text", 75, plain=True)
                yield from _length(button.get("value"), f"{at}/{key}/value", 2000)
        case "icon_button":
            yield from _text(element.get("text"), at + "/text", 75, plain=True)


def _view(view: object) -> Iterator[str]:
    if not isinstance(view, dict):
        yield _error("must be an object", "/view")
        return
    surface = view.get("type")
    if surface not in ("modal", "home"):
        yield _error(f"unsupported type: {surface}", "/view/type")
        return
    if surface == "modal":
        yield from _text(view.get("title"), "/view/title", 24, plain=True)
        for key in ("submit", "close"):
            if key in view:
                yield from _text(view[key], f"/view/{key}", 24, plain=True)
    yield from _length(view.get("private_metadata", ""), "/view/private_metadata", 3000, least=0)
    yield from _length(view.get("callback_id", ""), "/view/callback_id", 255, least=0)
    yield from _length(view.get("external_id", ""), "/view/external_id", 255, least=0)
    if "blocks" not in view:
        yield _error("missing required field: blocks", "/view")
        return
    yield from _blocks(view["blocks"], surface, "/view/blocks")
    has_input = any(isinstance(b, dict) and b.get("type") == "input" for b in view["blocks"] or ())
    if surface == "modal" and has_input and "submit" not in view:
        yield _error("missing required field: submit (there is an input block)", "/view")
