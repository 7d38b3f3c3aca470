"""Secrets that tests plant in a configuration, and where they look for them afterwards."""

import base64
import html
import json
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

import duckdb
import pyarrow.parquet as papq
import pytest

from tests.paths import DATA

PLANTED = {
    "env": "e-0Q'w<9&x+/é",
    "file": "f-7Hq2Lm5Zt8",
    "block": "b-4Rk1Vn6Yc3",
    "variable": "v-3Jd8Ws5Xe2",
    "in an address": "a-9Tb4Gm7Po1",
    "at a key": "p-6Ub2Fc8Ia5",
    "in another address": "q-5Yd7Kr3Ov9",
    "in a query": "r-8Es1Nh4Mj6",
    "key of a service": "sk-proj-1Ax2By3Cz4Dw5Ev6",
    "tracker": "t@4/Lp9Qa2Zs6",
    "prefect": "h-2Mn6Bv3Cx8",
}
ENGINE = """
import base64, logging, sys

def search(queries, **given):
    told = repr(given) + base64.b64encode(b"me:" + given["headers"]["X-Key"].encode()).decode()
    logging.getLogger("prefect.task_runs").error("searching with %s", told)
    print("searching with", told)
    print("searching with", told, file=sys.stderr)
    if given.get("is_silent"):
        try:
            raise KeyError(told)
        except KeyError as error:
            raise ConnectionError(f"refused: {told}") from error
    return {query: [(f"{query}-guide", 2.0), (f"{query}-story", 1.0)] for query in queries}
"""
CONFIG = """
name: planted
judgments: judgments.qrels
queries: queries.tsv
systems:
  - {{name: old, file: old.run}}
  - name: new
    python: engine_with_planted_secrets:search
    arguments:
      headers: {{Authorization: "Bearer ${{VARIABLE_TOKEN}}", X-Key: {{env: PLANTED_ENV}}}}
      passwords: [{{file: secret.txt}}, {{prefect: planted}}]
      api_key: ${{AT_A_KEY}}
      endpoint: "https://me:${{IN_ANOTHER_ADDRESS}}@search.example/find?index=docs&access_token=${{IN_A_QUERY}}"
      other: "https://me:${{ADDRESS}}@search.example/"
      model: ${{KEY_OF_A_SERVICE}}
statistics: {{resamples: 100}}
output: {output}
mlflow: {{tracking_uri: {{env: PLANTED_TRACKER}}}}
prefect: {{api_url: "http://me:${{PREFECT}}@{host}", retries: 0}}
"""


def forms(secret: str) -> set[str]:
    """The secret as texts hold it: plain, in JSON, in HTML, in addresses, in base64 behind a user's name."""
    found = {secret, json.dumps(secret)[1:-1], html.escape(secret), quote(secret, safe=""), quote_plus(secret)}
    for before in ("", "me:", "ab"):
        text = base64.b64encode((before + secret).encode()).decode().rstrip("=")
        found.add(text[len(before) * 4 // 3 + 1 : -1])
    return found


def texts_of(path: Path) -> Iterator[tuple[str, str]]:
    """What a file holds, as text; of databases and Parquet every value, since they keep them compressed."""
    yield str(path), path.read_bytes().decode("utf-8", errors="replace")
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall():
                yield f"{path}, {name}", repr(connection.execute(f'select * from "{name}"').fetchall())
    elif path.suffix == ".parquet":
        yield str(path), repr(papq.read_table(path).to_pylist())
    elif path.suffix == ".db":
        connection = sqlite3.connect(path)
        for (name,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall():
            yield f"{path}, {name}", repr(connection.execute(f'select * from "{name}"').fetchall())
        connection.close()


def found_in(texts: Mapping[str, str], secrets: Mapping[str, str]) -> list[str]:
    """``api_key in stdout``: each secret with each place that it stands in."""
    return [
        f"{name} in {place}"
        for place, text in texts.items()
        for name, secret in secrets.items()
        if any(form in text for form in forms(secret))
    ]


PACKED = re.compile(r"H4sI[A-Za-z0-9+/]{20,}={0,2}|(?<=deflate;)[A-Za-z0-9+/]{20,}={0,2}")


def unpacked(text: str) -> str:
    """The text, and what it holds packed: the data of a page, the views in MLflow."""
    found = (base64.b64decode(packed) for packed in PACKED.findall(text))
    return text + "".join(zlib.decompress(content, wbits=47).decode() for content in found)


def everything_below(*folders: Path) -> dict[str, str]:
    return {
        place: unpacked(text)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for place, text in texts_of(path)
    }


def planted_config(folder: Path, prefect_address: str, patch: pytest.MonkeyPatch) -> Path:
    """A configuration with every secret of PLANTED, by reference, in a folder with its inputs."""
    for path in DATA.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "engine_with_planted_secrets.py").write_text(ENGINE)
    (folder / "secret.txt").write_text(PLANTED["file"] + "\n")
    patch.setenv("PLANTED_ENV", PLANTED["env"])
    patch.setenv("VARIABLE_TOKEN", PLANTED["variable"])
    patch.setenv("ADDRESS", PLANTED["in an address"])
    patch.setenv("PLANTED_TRACKER", f"http://me:{PLANTED['tracker']}@127.0.0.1:9")
    for name in ("at a key", "in another address", "in a query", "key of a service", "prefect"):
        patch.setenv(name.upper().replace(" ", "_"), PLANTED[name])
    path = folder / "planted.yaml"
    path.write_text(CONFIG.format(output=folder / "out", host=prefect_address.removeprefix("http://")))
    return path
