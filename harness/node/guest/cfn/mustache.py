"""Mustache templates, without partials and other delimiters."""
import html
import re

TAG = re.compile(r"\{\{(?:\{\s*(?P<raw>[^}]*?)\s*\}|(?P<kind>[#^/&!>=]?)\s*(?P<name>[^}]*?)\s*)\}\}", re.S)
# A tag without a value that is alone on its line takes the line with it.
ALONE = re.compile(r"^[ \t]*(\{\{\s*[#^/!][^}]*\}\})[ \t]*\r?\n", re.M)


def render(template, context):
    """The text of a template. Raises ValueError for what is not a template."""
    parts, rest = parsed(ALONE.sub(r"\1", template), 0, None)
    if rest is not None:
        raise ValueError("a section ends that did not begin")
    return written(parts, [context])


def parsed(text, at, section):
    """The parts up to the end of a section, and where the text continues."""
    parts = []
    while True:
        tag = TAG.search(text, at)
        if tag is None:
            if section is not None:
                raise ValueError(f"the section {section} does not end")
            return parts + [text[at:]], None
        parts.append(text[at : tag.start()])
        at = tag.end()
        kind, name = tag.group("kind"), tag.group("name")
        if tag.group("raw") is not None:
            parts.append(("&", tag.group("raw"), None))
        elif kind in ("#", "^"):
            inner, at = parsed(text, at, name)
            parts.append((kind, name, inner))
        elif kind == "/":
            if name != section:
                raise ValueError(f"unexpected end of the section {name}")
            return parts, at
        elif kind in (">", "="):
            raise ValueError(f"partials and other delimiters are not supported: {tag.group()}")
        elif kind != "!":
            parts.append((kind, name, None))


def written(parts, stack):
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        kind, name, inner = part
        value = found(name, stack)
        if kind == "#":
            values = value if isinstance(value, list) else [value] if value else []
            text += "".join(written(inner, [*stack, each]) for each in values)
        elif kind == "^":
            text += "" if value else written(inner, stack)
        elif value is not None:
            text += str(value) if kind == "&" else html.escape(str(value))
    return text


def found(name, stack):
    """The value of a name in the innermost context that has it."""
    if name == ".":
        return stack[-1]
    first, *others = name.split(".")
    for context in reversed(stack):
        if isinstance(context, dict) and first in context:
            value = context[first]
            for other in others:
                value = value.get(other) if isinstance(value, dict) else None
            return value
    return None
