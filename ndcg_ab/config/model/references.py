"""What a configuration says of a secret: the type of a key that may need one, and the keys that are looked up late.

    api_url: https://prefect.example/api          a text; `${NAME}` in it is looked up when it is used
    api_url: {env: PREFECT_ADDRESS}               a reference: {env: NAME}, {file: PATH} or {prefect: BLOCK}

`ndcg_ab.config.secrets.lookup` looks them up.
"""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

ReferenceKind = Literal["env", "file", "prefect"]
REFERENCES: tuple[str, ...] = get_args(ReferenceKind)
# Texts and references below these keys stay as they are written, and are looked up when they are used.
REQUEST = ("url", "headers", "parameters", "body")  # the keys of `http` that make a request
AT_USE = (
    "mlflow.tracking_uri",
    "prefect.api_url",
    "engine.spark.conf",
    "engine.spark.remote",
    "systems[].arguments",
    "judgments.arguments",
    "more_judgments[].arguments",
    *(
        f"{place}.{key}"
        for place in ("judgments", "more_judgments[]", "cheap_judgments", "queries", "systems[]")
        for key in ("database", "storage")
    ),
    *(
        f"{place}.clicks.{key}"
        for place in ("judgments", "more_judgments[]", "cheap_judgments")
        for key in ("arguments", "database", "storage")
    ),
    "documents.storage",
    "intended.storage",
    "careful_unseen.storage",
    *(f"systems[].http.{key}" for key in REQUEST),
)

# Keys that name a place whose file may be given alone.
FILE_KEYS = ("judgments", "cheap_judgments", "careful_unseen", "queries", "documents", "intended")


def is_reference(content: Any) -> bool:
    """Whether it is {env: NAME}, {file: PATH} or {prefect: NAME}."""
    return isinstance(content, dict) and len(content) == 1 and next(iter(content)) in REFERENCES


def text_or_reference(content: Any) -> Any:
    """The same; ValueError for what is neither text nor a reference."""
    if content is None or isinstance(content, str):
        return content
    if is_reference(content) and all(isinstance(name, str) and name for name in content.values()):
        return content
    raise ValueError("must be text, or where the text is: {env: NAME}, {file: PATH} or {prefect: BLOCK}")


SecretText = Annotated[str | dict[ReferenceKind, str], BeforeValidator(text_or_reference)]
"""A text that may be a secret, or hold one: the type of the keys that are in `AT_USE`."""


def general_key(key: str) -> str:
    """A key of any entry of a list: ``systems[].file`` for ``systems[1].file``."""
    return re.sub(r"\[\d+\]", "[]", key)


def is_looked_up_later(key: str) -> bool:
    """Whether what is at a dotted key, as `systems[1].arguments.api_key`, is looked up when it is used."""
    found = general_key(key)
    return any(found == kept or found.startswith((f"{kept}.", f"{kept}[")) for kept in AT_USE)
