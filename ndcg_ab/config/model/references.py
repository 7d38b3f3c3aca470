"""What a configuration says of a secret: the type of a key that may need one, and the keys that are looked up late.

    api_url: https://prefect.example/api          a text; `${NAME}` in it is looked up when it is used
    api_url: {env: PREFECT_ADDRESS}               a reference: {env: NAME}, {file: PATH} or {prefect: BLOCK}

`ndcg_ab.config.secrets.lookup` looks them up.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

ReferenceKind = Literal["env", "file", "prefect"]
REFERENCES: tuple[str, ...] = get_args(ReferenceKind)


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
"""A text that may be a secret, or hold one."""
