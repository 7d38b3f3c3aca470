"""Read YAML files strictly, with the line of each error."""

import contextlib
import re
from pathlib import Path
from typing import Any

import yaml

from ndcg_ab.config.loading.hints import utf8_command
from ndcg_ab.errors import SHOWN, InputError, error_text, format_value, shorten

LARGEST = 1 << 20  # bytes of a file
DEEPEST = 50  # lists and mappings inside each other
MOST_VALUES = 100_000  # with everything that an alias stands for written out
WRONG = (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError)  # of values that do not fit a tag


def refused(problem: str, mark: yaml.Mark | None = None) -> yaml.MarkedYAMLError:
    """Return the error for YAML that is not read; mark: the place in the text, if it is known."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


class Loader(yaml.SafeLoader):
    """A YAML loader that refuses repeated keys and reads dates as text: `version: 2026-11-20` needs no quotes.

    Excessive content is refused: deep nesting, aliases of aliases, and numbers too large for a double. depth: the
    current depth of nesting. sizes: id of a node -> number of its values.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.depth = 0
        self.sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        anchor = event.anchor if isinstance(event, yaml.AliasEvent) else None
        if anchor in self.anchors and id(self.anchors[anchor]) not in self.sizes:
            raise refused(f"{format_value(anchor)} refers to something that contains it", mark)
        self.depth += 1
        if self.depth > DEEPEST:
            raise refused(f"more than {DEEPEST} lists and mappings inside each other", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if node is not None and self.size_of(node) > MOST_VALUES:
            raise refused(f"more than {MOST_VALUES:,} values, counting what aliases repeat", mark)
        return node

    def size_of(self, node: yaml.Node) -> int:
        """Return the number of values in a node, counting what aliases repeat; inner nodes must be measured before."""
        if id(node) not in self.sizes:
            inner = node.value if isinstance(node, yaml.CollectionNode) else []
            if isinstance(node, yaml.MappingNode):
                inner = [each for pair in node.value for each in pair]
            self.sizes[id(node)] = 1 + sum(self.sizes[id(each)] for each in inner)
        return self.sizes[id(node)]

    def construct_document(self, node: yaml.Node) -> Any:
        try:
            return super().construct_document(node)
        except WRONG as error:
            raise refused(f"a value does not fit its tag ({error_text(error)})") from None

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int):
                float(value)  # a whole number that is none is of no use to anybody
            return value
        except WRONG:
            kind = node.tag.rpartition(":")[2]
            rule = f"is not of the kind {format_value(kind)}"
            raise refused(f"{format_value(node.value)} {rule}", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        first = {key.value: key for key in reversed(keys)}
        for key in keys:
            if key is not first[key.value]:
                raise refused(f"key {format_value(key.value)} is given twice", key.start_mark)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

UNQUOTED = re.compile(r"""[^\s,"'{}\[\]]*\{[A-Za-z_]\w*(?::[^{}]*)?\}[^\s,"'}\]]*""")


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text; raise ValueError with the problem if it is not YAML."""
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(getattr(error, "problem", error)) from None


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file; raise InputError that names the line of an error."""
    text = read_text(path)
    try:
        return yaml.load(text, Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"{path}, line {line}: is not YAML: {text[error.position]!r} is not allowed there") from None
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        hint = syntax_hint(str(error.problem), text, error.problem_mark)
        message = shorten(str(error.problem), 3 * SHOWN)
        raise InputError(f"{path}{where}: is not YAML: {message}{hint}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: is not YAML: {error_text(error)}") from None


def syntax_hint(problem: str, text: str, mark: yaml.Mark | None) -> str:
    """Return a hint on how to fix invalid YAML (tabs, indentation, unquoted braces), or an empty text."""
    if "'\\t'" in problem:
        return "; indent with spaces, not with tabs"
    if mark and (hint := indentation_hint(text, mark.line)):
        return hint
    line = text.splitlines()[mark.line] if mark and "'{'" in problem else ""
    unquoted = UNQUOTED.search(line)
    return f'; put it in quotes: "{shorten(unquoted[0])}"' if unquoted else ""


def indentation_hint(text: str, line: int) -> str:
    """Return advice on how to indent one line so that the text becomes valid YAML, or an empty text.

    line: the number of the line, from 0.
    """
    lines = [*text.splitlines(), ""]
    width = len(lines[line]) - len(lines[line].lstrip())
    widths = [len(each) - len(each.lstrip(signs)) for each in lines[:line] for signs in (" ", " -")]
    for other in sorted(set(widths), key=lambda each: abs(each - width)):
        changed = [*lines[:line], " " * other + lines[line].lstrip(), *lines[line + 1 :]]
        with contextlib.suppress(yaml.YAMLError, *WRONG):
            yaml.load("\n".join(changed), Loader)
            return f"; indent it by {other} spaces, not by {width}"
    return ""


def read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InputError(f"{path}: is larger than {LARGEST:,} bytes: a configuration must be smaller")
        return content.decode()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        line, bad = content.count(b"\n", 0, error.start) + 1, content[error.start : error.start + 1]
        raise InputError(f"{path}, line {line}: byte {bad!r} is not UTF-8 text: {utf8_command(content)}") from None
