"""Reads YAML: what is wrong is named by its line."""

import re
from pathlib import Path
from typing import Any

import yaml

from ndcg_ab.config.hints import to_utf8
from ndcg_ab.errors import InputError


class Loader(yaml.SafeLoader):
    """YAML in which a key stands once and a date is text: `version: 2026-11-20` needs no quotes."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        first = {key.value: key for key in reversed(keys)}
        for key in keys:
            if key is not first[key.value]:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

UNQUOTED = re.compile(r"""[^\s,"'{}\[\]]*\{[A-Za-z_]\w*(?::[^{}]*)?\}[^\s,"'}\]]*""")


def read_yaml(path: Path) -> Any:
    """What stands in a YAML file; InputError names the line of what is wrong."""
    text = read_text(path)
    try:
        return yaml.load(text, Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"{path}, line {line}: is not YAML: {text[error.position]!r} cannot stand there") from None
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        hint = syntax_hint(str(error.problem), text, error.problem_mark)
        raise InputError(f"{path}{where}: is not YAML: {error.problem}{hint}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None


def syntax_hint(problem: str, text: str, mark: yaml.Mark | None) -> str:
    """What to write instead of what is not YAML: spaces for tabs, quotes around braces."""
    if "'\\t'" in problem:
        return "; indent with spaces, not with tabs"
    line = text.splitlines()[mark.line] if mark and "'{'" in problem else ""
    found = UNQUOTED.search(line)
    return f'; put it in quotes: "{found[0]}"' if found else ""


def read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return content.decode()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        line, bad = content.count(b"\n", 0, error.start) + 1, content[error.start : error.start + 1]
        raise InputError(f"{path}, line {line}: byte {bad!r} is not UTF-8 text: {to_utf8(content)}") from None
