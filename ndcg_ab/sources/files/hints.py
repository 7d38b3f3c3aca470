"""What to write instead, where a file is not what it was taken for."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from ndcg_ab.errors import shortened
from ndcg_ab.sources.files.unpacking import find_packing
from ndcg_ab.sources.forms.names import NAMES, bare_name, guess_column

MAPPING = {"judgment": "--judgments-columns", "ranking": "--columns"}
FORMAT = {"judgment": "--judgments-format", "ranking": "--format"}
PACKED = {  # how a file begins -> what it is, what to do
    b"\xd0\xcf\x11\xe0": ("an Excel file", "export its sheet as CSV"),
    b"SQLite format 3": ("a SQLite database", "export its table as CSV"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "unpack it: 7z x {}"),
    b"Rar!\x1a\x07": ("a RAR archive", "unpack it: unrar x {}"),
    b"FEA1": ("a Feather file of version 1", "write it again, with pyarrow.feather.write_feather"),
}


def columns_option(kind: str, mapping: Mapping[str, str]) -> str:
    """``--columns doc_id=url``, and the same for a configuration."""
    mapping = {field: shortened(column) for field, column in mapping.items()}
    key = f"columns: {{{', '.join(f'{field}: {column}' for field, column in mapping.items())}}}"
    if kind not in MAPPING:
        return key
    pairs = ",".join(f"{field}={column}" for field, column in mapping.items())
    return f"{MAPPING[kind]} {shlex.quote(pairs)} (in a configuration {key})"


def swapped_hint(kind: str, found: Sequence[str]) -> str:
    """``this looks like a ranking: swapped? ``, where columns are those of the other kind; else nothing."""
    graded = guess_column("grade", found) is not None
    ordered = any(guess_column(field, found) for field in ("score", "rank"))
    if kind == "judgment" and ordered and not graded:
        return "this looks like a ranking: are judgments and ranking swapped? "
    if kind == "ranking" and graded and not ordered:
        return "this looks like judgments: are judgments and ranking swapped? "
    return ""


def wrong_header_hint(kind: str, found: Sequence[str], fields: Sequence[str]) -> str | None:
    """What is wrong with a first line that names none of the columns: other delimiters, or data."""
    if len(found) == 1:
        for sign, word in (("\t", "tabs"), (",", "commas"), (";", "';'"), ("|", "'|'")):
            if sign in found[0]:
                return f"its first line is divided by {word}{delimiter_hint(kind, sign)}"
    if found and any(is_numeric(name) for name in found) and not any(guess_column(field, found) for field in fields):
        return (
            f"its first line ({shortened(', '.join(found))}) is data, not a header; put a first line above it:"
            f" {','.join(fields[:3])} (a name for each of its {len(found)} columns, divided as they are)"
        )
    return None


def delimiter_hint(kind: str, sign: str) -> str:
    if sign in ",\t":
        name = "csv" if sign == "," else "tsv"
        return f": say {FORMAT[kind]} {name}, or name it .{name}" if kind in FORMAT else f": name it .{name}"
    return f", not by commas; where no field holds a comma: tr '{sign}' ',' < FILE > NEW.csv"


def other_format_hint(kind: str, line: str, parts: Sequence[str], first: bool) -> str:
    """What a line that is no TREC line may be: for the end of a message."""
    if kind == "judgment" and len(parts) == 6 and is_numeric(parts[4]):
        return "this looks like a ranking: are judgments and ranking swapped?"
    if kind == "ranking" and len(parts) == 4 and is_numeric(parts[3]):
        return "this looks like judgments: are judgments and ranking swapped?"
    if line.startswith("#"):
        return "take lines of comment away: grep -v '^#' FILE > NEW"
    if first and (remedy := awk_command(kind, parts)):
        return f"where every line is like it, this makes TREC of them: awk '{{print {remedy}}}' FILE > NEW"
    likely = None
    if first and line[0] in "{[":
        likely = "jsonl"
    elif first and "\t" in line and guess_column("doc_id", line.split("\t")):
        likely = "tsv"
    elif first and line.count(",") > 1:
        likely = "csv"
    if likely and kind in FORMAT:
        return f"if the file is of another format, say which: {FORMAT[kind]} {likely}"
    return "if the file is of another format, say which"


def awk_command(kind: str, parts: Sequence[str]) -> str | None:
    """What awk prints so that fields that lack some, or have one too many, are those of a TREC line."""
    if kind == "judgment" and len(parts) == 3 and is_numeric(parts[2]):
        return "$1, 0, $2, $3"
    if kind == "judgment" and len(parts) == 5 and is_numeric(parts[3]):
        return "$1, $2, $3, $4"
    if kind == "ranking" and len(parts) == 3 and is_numeric(parts[2]):
        return '$1, "Q0", $2, ++n[$1], $3, "run"'
    if kind == "ranking" and len(parts) == 5 and is_numeric(parts[3]):
        if is_numeric(parts[4]):
            return '$1, $2, $3, $4, $5, "run"'
        return '$1, "Q0", $2, $3, $4, $5' if is_numeric(parts[2]) else None
    return None


def filter_command(path: Path, program: str, number: str = "") -> str:
    """Return the command that sends a file, unpacked, through a program; number: of the new file among several."""
    file = shlex.quote(str(path))
    packing = find_packing(path)
    new = f"NEW{number}" + next((end for end in path.suffixes if end.lower() in (".csv", ".tsv")), "")
    return f"{packing.remedy} {file} | {program} > {new}" if packing else f"{program} {file} > {new}"


def is_header(parts: Sequence[str]) -> bool:
    return sum(bare_name(part) in names for part in parts for names in NAMES.values()) > 1


def is_numeric(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?", text.strip()) is not None


def number_hint(field: str, text: str) -> str:
    """What to write instead of a value that is no number."""
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f"; write it with a point: {text.replace(',', '.')}"
    if field == "grade" and text.lower() in ("true", "false", "yes", "no"):
        return "; write 1 and 0"
    return ""


def packed_hint(path: Path, start: bytes) -> str | None:
    """What a file is by its first bytes that cannot be read here, and what to do."""
    if path.suffix.lower() in (".xlsx", ".xlsm", ".ods") and start.startswith(b"PK"):
        return "is a spreadsheet, which is not read here; export its sheet as CSV"
    for magic, (what, remedy) in PACKED.items():
        if start.startswith(magic):
            return f"is {what}, which is not read here; {remedy.format(shlex.quote(str(path)))}"
    return None


def folder_hint(path: Path) -> str:
    """``; name one of its files, such as runs/old.run``"""
    names = sorted(each.name for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
    return f"; name one of its files, such as {path / names[0]}" if names else ""


def closest_first(name: str, names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda each: -SequenceMatcher(None, name.lower(), each.lower()).ratio())
