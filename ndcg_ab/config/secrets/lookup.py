"""Look up secrets and environment variables that a configuration names, when they are used.

    {env: NAME}      the environment variable NAME
    {file: PATH}     the content of the file, without the final line end
    {prefect: NAME}  the Prefect block of type Secret called NAME

In texts, `${NAME}` and `${NAME:-value}` are environment variables, and `$${` is a plain `${`.

Stored results contain the reference. This process remembers every value that it looked up, and `redact` removes it
from everything that is displayed or stored.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ndcg_ab.config.model.keys import SecretText, is_reference
from ndcg_ab.config.secrets.redaction import ASSIGNED, USERINFO, has_secret_name, redact, remember_secret
from ndcg_ab.errors import InputError, format_value

__all__ = ["SecretText", "is_reference", "redact", "remember_secret", "reveal_address", "reveal_secrets"]

VARIABLE = re.compile(r"\$\$\{|\$\{(?P<inner>[^{}]*)\}|\$\{")
INNER = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>.*))?", flags=re.DOTALL)
LEAST = 8  # letters of a variable's value that is no reference and counts as a secret for its looks
CLIENTS = ("MLFLOW_", "PREFECT_")
FOLDERS = ("PWD", "OLDPWD")  # of the shell: no passwords
WORDS = re.compile(r"\d+([.,]\d+)?|[a-z]+([-_. /]?[a-z]+)*|[A-Z][a-z]+|[~.]{0,2}/\S*|[\w.-]+:\d+|\w+://\S+")


def fill_variables(text: str, where: str) -> str:
    """Return the text with each ``${NAME}`` replaced by the value of the environment variable.

    ``${NAME:-value}`` has a default, and ``$${`` becomes ``${``. An empty variable counts as not set.
    where: the configuration key of the text, for messages.
    Raises InputError if a variable without a default is not set, or if the text after ``${`` has another form.
    """

    def value_of(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        inner = INNER.fullmatch(match["inner"] or "")
        if inner is None:
            raise InputError(
                f"{where}: {format_value(text[match.start() :])}: must be ${{NAME}} or ${{NAME:-value}};"
                " $${ writes a plain ${"
            )
        name, default = inner["name"], inner["default"]
        value = os.environ.get(name) or default
        if value is None:
            raise InputError(
                f"{where}: ${{{name}}} is not set (and has no default): set the variable, or write ${{{name}:-value}}"
            )
        return value

    return VARIABLE.sub(value_of, text)


def reveal_secrets(content: Any, where: str, directory: Path) -> Any:
    """Return a configuration value with the secrets that it refers to filled in.

    References such as {env: NAME} and variables ``${NAME}`` are replaced by their values, also in nested lists and
    mappings. The values are marked as secrets, so that they are removed from output.
    where: the configuration key of the value, for messages.
    directory: the folder from which relative paths of secrets start.
    Raises InputError if a secret or a variable is missing.
    """
    if is_reference(content):
        value = look_up(content, where, directory)
        remember_address(value)
        return remember_secret(value)
    if isinstance(content, dict):
        return {key: reveal_secrets(value, f"{where}.{key}", directory) for key, value in content.items()}
    if isinstance(content, list):
        return [reveal_secrets(value, f"{where}[{index}]", directory) for index, value in enumerate(content)]
    if not isinstance(content, str):
        return content
    text = fill_variables(content, where)
    for match in VARIABLE.finditer(content):
        name = (match["inner"] or "").partition(":-")[0]
        value = os.environ.get(name, "")
        if has_secret_name(name) or has_secret_name(where) or (len(value) >= LEAST and not WORDS.fullmatch(value)):
            remember_secret(value)
    remember_address(text)
    return text


def reveal_arguments(arguments: Mapping[str, Any], where: str, directory: Path) -> dict[str, Any]:
    """Return the configured keyword arguments of a function with the secrets that they refer to filled in.

    A value such as {file: PATH} is a reference to a secret. The mapping `arguments` itself is never such a reference,
    even if its only argument is named `file`.
    where: the configuration key of the arguments, for messages.
    directory: the folder from which relative paths of secrets start.
    Raises InputError if a secret or a variable is missing.
    """
    return {name: reveal_secrets(value, f"{where}.{name}", directory) for name, value in arguments.items()}


def reveal_address(content: Any, where: str, directory: Path) -> str:
    """Return an address with references and variables replaced by their values; empty for None.

    User, password and secret parameters of the address are marked as secrets, so that they are removed from output. The
    rest of the address is not hidden.
    content: a text, a reference such as {env: NAME}, or None.
    where: the configuration key of the address, for messages.
    directory: the folder from which relative paths of secrets start.
    Raises InputError if a secret or a variable is missing.
    """
    if content is None:
        return ""
    is_named = is_reference(content)
    return remember_address(look_up(content, where, directory) if is_named else fill_variables(content, where))


def remember_address(text: str) -> str:
    """Mark the user, password and secret query parameters of an address as secrets, and return the address."""
    for match in USERINFO.finditer(text):
        user, password = match["user"], match["secret"]
        for each in (password, unquote(password), f"{user}:{password}", f"{unquote(user)}:{unquote(password)}"):
            remember_secret(each)
    for match in ASSIGNED.finditer(text):
        if has_secret_name(match["name"]):
            remember_secret(unquote(remember_secret(match["secret"])))
    if alone := re.match(r"https?://([^/:@?#\s]{8,})@", text):  # before the @ alone, and long enough for a secret
        remember_secret(unquote(remember_secret(alone[1])))
    return text


def split_address(text: str) -> tuple[str, str | None]:
    """Return an HTTP address without user and password, and the decoded ``user:password`` or None.

    An address without user and password, or of another scheme, is returned unchanged, with None.
    """
    if "@" not in text or not text.startswith(("http://", "https://")):
        return text, None
    address = without_password(text)
    start = text.index("://") + 3
    credentials = text[start : len(text) - len(address) + start - 1]
    return address, unquote(credentials) if credentials else None


def without_password(uri: str) -> str:
    """Return an address without user and password."""
    return re.sub(r"(?<=://)[^\s/@?#]*@", "", USERINFO.sub(r"\g<slash>", uri))


def remember_environment(variables: Mapping[str, str] | None = None) -> None:
    """Mark the secrets in environment variables, so that they are removed from output.

    These are the values of variables whose names suggest a secret, such as ``API_KEY``, and the passwords in variables
    that end in ``_URI`` or ``_URL``. Values of fewer than 8 characters are not marked, and neither are plain words,
    numbers and paths, except in variables of MLflow and Prefect.
    variables: name -> value; None for the environment of the process.
    """
    for name, value in (os.environ if variables is None else variables).items():
        if has_secret_name(name) and name not in FOLDERS and len(value) >= LEAST:
            if name.startswith(CLIENTS) or not WORDS.fullmatch(value):
                remember_secret(value)
        elif name.endswith(("_URI", "_URL")):
            remember_address(value)


def look_up(reference: Mapping[str, Any], where: str, directory: Path) -> str:
    """Return the secret that a reference such as {env: NAME} names.

    where: the configuration key of the reference, for messages.
    directory: the folder from which relative paths of secrets start.
    Raises InputError if the secret is missing, empty or cannot be read.
    """
    ((kind, name),) = reference.items()
    return LOOK_UP[kind](str(name), where, directory)


def from_environment(name: str, where: str, directory: Path) -> str:
    value = os.environ.get(name)
    if not value:
        raise InputError(f"{where}: the variable {name} is not set: set it, or name another with {{env: NAME}}")
    return value


def from_file(name: str, where: str, directory: Path) -> str:
    try:
        path = directory / Path(name).expanduser()
        value = path.read_text(encoding="utf-8").rstrip("\r\n")
    except RuntimeError:
        raise InputError(f"{where}: {name}: there is no home directory here for ~: give the whole path") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: {path}: the secret cannot be read: {type(error).__name__}") from None
    if not value:
        raise InputError(f"{where}: {path}: the file of the secret is empty: write the secret into it")
    return value


def from_prefect(name: str, where: str, directory: Path) -> str:
    if where.endswith("prefect.api_url"):
        raise InputError(f"{where}: Prefect's own address cannot be in a block of Prefect: say {{env: NAME}}")
    from prefect.blocks.system import Secret

    try:
        block: Any = Secret.load(name)
        return str(block.get())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{where}: Prefect has no secret block {name!r}: {type(error).__name__}") from None


LOOK_UP = {"env": from_environment, "file": from_file, "prefect": from_prefect}
