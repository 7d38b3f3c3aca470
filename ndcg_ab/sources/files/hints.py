"""What to write instead, where a file is not what it was taken for."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.errors import shortened
from ndcg_ab.sources.files.unpacking import find_packing

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


def format_hint(kind: str) -> str:
    """Return what to do about a file that has another format than its name says."""
    return f"if the file is of another format, say which{f': {FORMAT[kind]} FORMAT' if kind in FORMAT else ''}"


def filter_command(path: Path, program: str, number: str = "") -> str:
    """Return the command that sends a file, unpacked, through a program; number: of the new file among several."""
    file = shlex.quote(str(path))
    packing = find_packing(path)
    new = f"NEW{number}" + next((end for end in path.suffixes if end.lower() in (".csv", ".tsv")), "")
    return f"{packing.remedy} {file} | {program} > {new}" if packing else f"{program} {file} > {new}"


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
