"""Read the SQL files with their headers, and find the files that a table needs, in order.

A file in `sql/` is one select; its name gives its number and its table (``300_graded_doc.sql``), and the first digit
of the number its folder (``3_grade``). Tables named ``pulled_…`` are inputs. Files with numbers from 800 on make grades
from clicks, those from 900 on read the history; all others are the pipeline.
"""

import functools
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

PART = re.compile(r"^ *-- only (\w+): (.+)\n((?:.*\n)*?) *-- end\n", re.MULTILINE)
FIRST_UNION = re.compile(r"(\((?:\s|--.*\n)*)union(?: all)?\n")  # whose first select was left out
CLICKS, HISTORY = 800, 900  # the numbers from which files make grades of clicks, and read the history


@dataclass(frozen=True)
class SqlFile:
    """One SQL file, which holds one select and describes one table.

    Attributes
    ----------
    name : str
        Name of the table.
    number : int
        Number in the order of execution.
    text : str
        The select, with the comment at the top of the file.
    reads : tuple of str
        Names of the tables that the select reads.
    params : tuple of str
        Names of the parameters of the select.
    kind : str
        ``table``; ``view``; or ``query``, which makes no table and is run whenever it is read.
    """

    name: str
    number: int
    path: Path
    text: str
    reads: tuple[str, ...]
    params: tuple[str, ...]
    kind: str = "table"

    @property
    def display_path(self) -> str:
        """Return the path for messages, such as ``sql/3_grade/300_graded_doc.sql``."""
        return "/".join(("sql", *self.path.parts[-2:]))


def sql_directory() -> Path:
    """Return the folder of the SQL files: in the installed package, or in a checkout."""
    package = Path(__file__).parent.parent
    return package / "sql" if (package / "sql").is_dir() else package.parent / "sql"


def read_header(text: str) -> dict[str, str]:
    """Return the keys in the comment at the top of a SQL file, with their values as texts.

    The keys are grain, reads, params and kind; a key that the comment lacks is left out.
    """
    keys = {}
    for line in text.splitlines():
        key, colon, value = line.removeprefix("-- ").partition(":")
        if not line.startswith("--"):
            break
        if colon and key in ("grain", "reads", "params", "kind"):
            keys[key] = value.strip()
    return keys


def read_sql_file(path: Path) -> SqlFile:
    """Read a SQL file and the keys in the comment at its top.

    The number and the table's name come from the name of the file. If the comment has no kind, the file makes a table.
    """
    text = path.read_text(encoding="utf-8")
    header = read_header(text)
    number, _, name = path.stem.partition("_")
    reads, params = (
        tuple(part.strip() for part in header.get(key, "-").split(",") if part.strip() != "-")
        for key in ("reads", "params")
    )
    return SqlFile(name, int(number), path, text, reads, params, header.get("kind", "table"))


@functools.lru_cache(maxsize=10_000)
def prune_file(file: SqlFile, values: frozenset[tuple[str, frozenset[str]]]) -> SqlFile:
    """Return a SQL file without the optional parts that would give no rows.

    An optional part stands between the lines ``-- only ties: average, doc_id_asc`` and ``-- end``. It gives rows only
    if the column `ties` has one of the two values. Tables and parameters that only removed parts use are removed from
    `reads` and `params`.
    values: pairs of a column and all values that it has. A column without a pair may have any value.
    """
    if "-- only " not in file.text:
        return file
    by_column = dict(values)

    def keep_part(part: re.Match[str]) -> str:
        is_empty = part[1] in by_column and by_column[part[1]].isdisjoint(part[2].split(", "))
        return "" if is_empty else part[0]

    text = FIRST_UNION.sub(r"\1", PART.sub(keep_part, file.text))
    body = re.sub("--.*", "", text)
    reads, params = (
        tuple(name for name in names if re.search(rf"{sign}{name}\b", body))
        for names, sign in ((file.reads, r"\b"), (file.params, r"\$"))
    )
    return replace(file, text=text, reads=reads, params=params)


@functools.cache
def sql_files() -> dict[str, SqlFile]:
    """Return all SQL files by table name, in the order of their numbers."""
    files = (read_sql_file(path) for path in sorted(sql_directory().glob("[0-9]_*/[0-9]*_*.sql")))
    return {file.name: file for file in files}


def pipeline_files() -> dict[str, SqlFile]:
    """Return the SQL files of an evaluation, by table name."""
    return {name: file for name, file in sql_files().items() if file.number < CLICKS}


def click_files() -> dict[str, SqlFile]:
    """Return the SQL files that make grades from clicks, by table name."""
    return {name: file for name, file in sql_files().items() if CLICKS <= file.number < HISTORY}


def history_files() -> dict[str, SqlFile]:
    """Return the SQL files that query the history, by table name."""
    return {name: file for name, file in sql_files().items() if file.number >= HISTORY}


def needed_files(targets: Iterable[str], files: Mapping[str, SqlFile], existing: Container[str] = ()) -> list[SqlFile]:
    """Return the SQL files of the targets and of all tables that they need, in the order in which to run them.

    existing: tables that exist already. Such a table is left out unless it is a target.
    Raises KeyError if no SQL file makes a target.
    """
    needed: dict[str, SqlFile] = {}
    waiting = [files[target] for target in targets]
    while waiting:
        file = waiting.pop()
        if file.name not in needed:
            needed[file.name] = file
            waiting += [files[name] for name in file.reads if name in files and name not in existing]
    return sorted(needed.values(), key=lambda file: file.number)


def tables_behind(readers: Iterable[SqlFile], files: Mapping[str, SqlFile]) -> set[str]:
    """Return the names of all tables that some SQL files read, directly or through views."""
    names = {name for file in readers for name in file.reads}
    views = [files[name] for name in names if name in files and files[name].kind == "view"]
    return names | tables_behind(views, files) if views else names


def affected_tables(changed: str, files: Mapping[str, SqlFile]) -> set[str]:
    """Return the names of all tables that read the table `changed`, directly or through other tables.

    files: in the order in which they are run.
    """
    names = {changed}
    for file in files.values():
        if not names.isdisjoint(file.reads):
            names.add(file.name)
    return names - {changed}
