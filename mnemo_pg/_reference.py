"""Generate docs/reference.md from the parts: every public function, table and column, as commented.

`python -m mnemo_pg._build` writes the page. It reads the text of the parts, so that it needs no
server; a test compares the page with the catalog of an installed database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

PAGE = "reference.md"

# By the number of the part that a function is in: a new function is on the page by itself.
TOPICS = (
    (300, 399, "Administration"),
    (400, 469, "Writing memories"),
    (520, 529, "Forgetting"),
    (505, 505, "Sharing"),
    (530, 539, "Sharing"),
    (470, 519, "Reading memories"),
    (540, 559, "Events and chains"),
    (560, 579, "Export, import and the log"),
    (600, 699, "Plans"),
    (700, 799, "Retrieval plans"),
    (100, 199, "Words"),
    (0, 999, "More"),
)
_HEAD = """\
# Reference

Every function that may be called, and every table, with its comment in the database. This page is
made from the parts in `sql/parts` by `make build`; `\\df+ mnemo.*` and `\\d+ mnemo.memory` in psql
show the same.

Parameters are best named: `p_agent_id => 'support'`. `p_agent_id` and `p_org_id` at the end of a
signature say who acts; NULL means the role's binding, else the settings `default_agent_id` and
`default_org_id`. What the codes mean: [errors.md](errors.md). Who may call what:
[access.md](access.md). What each function locks: [operating.md](operating.md).
"""
_FUNCTION = re.compile(
    r"^CREATE FUNCTION mnemo\.(?P<name>[a-z]\w*)\((?P<parameters>.*?)\)\s*"
    r"RETURNS (?P<returns>TABLE \(.*?\)|SETOF [\w.]+|[\w. \[\]]+?)\s*\n"
    r"LANGUAGE \w+ (?P<volatility>IMMUTABLE|STABLE|VOLATILE)",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(
    r"^COMMENT ON (?P<kind>FUNCTION|TABLE|VIEW|COLUMN) mnemo\.(?P<name>[a-z][\w.]*)"
    r"(?:\s*\([^()]*\))?\s+IS\s+(?P<text>(?:'(?:[^']|'')*'\s*)+);",
    re.MULTILINE,
)
_TABLE = re.compile(r"^CREATE TABLE mnemo\.([a-z]\w*) \(\n(.*?)\n\);", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r"^    ([a-z]\w*) ([a-z][a-z \[\]]*[a-z\]])(.*?),?$", re.MULTILINE)
_ADDED = re.compile(
    r"^ALTER TABLE mnemo\.([a-z]\w*)\s+ADD COLUMN ([a-z]\w*) ([a-z][a-z \[\]]*[a-z\]])(.*?);",
    re.MULTILINE,
)


@dataclass(slots=True)
class Function:
    """A public function as its part has it."""

    name: str
    parameters: str
    returns: str
    volatility: str
    part: int
    comment: str = ""

    @property
    def topic(self) -> str:
        """The heading that it stands under."""
        return next(title for low, high, title in TOPICS if low <= self.part <= high)


@dataclass(slots=True)
class Relation:
    """A table or view, its columns with type and comment."""

    name: str
    comment: str = ""
    columns: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Schema:
    """What the page shows."""

    functions: dict[str, Function] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    administration: frozenset[str] = frozenset()


def _literal(text: str) -> str:
    return "".join(part.replace("''", "'") for part in re.findall(r"'((?:[^']|'')*)'", text))


def _type(text: str, rest: str) -> str:
    plain = re.sub(r" (NOT NULL|DEFAULT .*|CONSTRAINT .*)", "", text).strip()
    return plain + (", not null" if "NOT NULL" in text + rest else "")


def read(folder: Path) -> Schema:
    """The schema that the parts of the folder make."""
    schema = Schema()
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}
    for name, text in texts.items():
        for found in _FUNCTION.finditer(text):
            given = {key: " ".join(value.split()) for key, value in found.groupdict().items()}
            given["returns"] = re.sub(r"^TABLE \( ?(.*?) ?\)$", r"TABLE (\1)", given["returns"])
            schema.functions[given["name"]] = Function(part=int(name[:3]), **given)
        for table, body in _TABLE.findall(text):
            relation = schema.relations.setdefault(table, Relation(table))
            for column, kind, rest in _COLUMN.findall(body):
                relation.columns[column] = [_type(kind, rest), ""]
        for table, column, kind, rest in _ADDED.findall(text):
            schema.relations[table].columns[column] = [_type(kind, rest), ""]
        listed = re.search(r"_admin_functions\(\) RETURNS text\[\].*?ARRAY\[(.*?)\];", text, re.S)
        if listed:
            schema.administration = frozenset(re.findall(r"'(\w+)'", listed[1]))
    for text in texts.values():
        for found in _COMMENT.finditer(text):
            _comment(schema, found["kind"], found["name"], _literal(found["text"]))
    return schema


def _comment(schema: Schema, kind: str, name: str, text: str) -> None:
    if kind == "FUNCTION":
        schema.functions[name].comment = text
    elif kind in ("TABLE", "VIEW"):
        schema.relations.setdefault(name, Relation(name)).comment = text
    else:
        table, _, column = name.partition(".")
        relation = schema.relations.setdefault(table, Relation(table))
        relation.columns.setdefault(column, ["", ""])[1] = text


def _wrapped(text: str, width: int = 100) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text for Markdown: names with underscores and stars are no emphasis."""
    return re.sub(r"(?<!`)([*<>|])", r"\\\1", re.sub(r"\b(_\w+|\w+_\w+|\w+\(\))", r"`\1`", text))


def signature(function: Function) -> str:
    """The signature over several lines, one parameter a line."""
    split = r", (?=p_|\"?[a-z_]+\"? [a-z])"
    parameters = re.split(split, function.parameters) if function.parameters else []
    inner = "".join(f"\n    {item}," for item in parameters).rstrip(",")
    text = f"mnemo.{function.name}({inner}{chr(10) if parameters else ''})"
    if not function.returns.startswith("TABLE"):
        return f"{text} -> {function.returns}"
    columns = re.split(split, function.returns.removeprefix("TABLE (").rstrip(")"))
    listed = ",".join(f"\n    {item}" for item in columns)
    return f"{text} -> rows ({listed}\n)"


def _level(schema: Schema, function: Function) -> str:
    if function.name in schema.administration:
        return "admin"
    return "any role with EXECUTE" if function.volatility == "IMMUTABLE" else "every level"


def _function(schema: Schema, function: Function) -> str:
    body, _, errors = function.comment.partition("Errors:")
    body = body.removesuffix("Level admin only. ").strip()
    how = "writes" if function.volatility == "VOLATILE" else "reads only"
    facts = [f"Level: {_level(schema, function)}; {how}."]
    if errors:
        facts.append(f"Errors:{_plain(errors.rstrip('.'))}.")
    return "\n\n".join([
        f"### {function.name}",
        f"```text\n{signature(function)}\n```",
        _wrapped(_plain(body)),
        _wrapped(" ".join(facts)),
    ])  # fmt: skip


def _relation(relation: Relation) -> str:
    typed = any(kind for kind, _ in relation.columns.values())
    lines = [
        f"| `{name}` | {f'{kind} | ' if typed else ''}{_plain(text)} |"
        for name, (kind, text) in relation.columns.items()
    ]
    head = ["| column | type | meaning |", "|---|---|---|"]
    if not typed:
        head = ["| column | meaning |", "|---|---|"]
    return "\n\n".join([
        f"### {relation.name}",
        _wrapped(_plain(relation.comment)),
        "\n".join([*head, *lines]),
    ])  # fmt: skip


def page(schema: Schema) -> str:
    """The text of the page."""
    pieces = [_HEAD.rstrip()]
    for title in dict.fromkeys(title for _, _, title in TOPICS):
        chosen = [one for one in schema.functions.values() if one.topic == title]
        if chosen:
            pieces.append(f"## {title}")
            pieces += [_function(schema, one) for one in chosen]
    pieces.append("## Tables")
    pieces.append(
        "Applications reach none of them. Administrators may read the view `mnemo.plan`; operators"
        " who are\nsuperusers or own the schema see the rest."
    )
    pieces += [_relation(one) for one in schema.relations.values() if one.name[0] != "_"]
    return "\n\n".join(pieces) + "\n"


def outputs(root: Path) -> dict[Path, str]:
    """The generated file and the text that it must have."""
    return {root / "docs" / PAGE: page(read(root / "sql" / "parts"))}
