"""Remove secrets from output: values that this process knows to be secret, and texts that look like secrets."""

import base64
import html
import json
import logging
import re
import traceback
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote, quote_plus

from ndcg_ab.config.walking import KeyPath, map_texts, walk_texts
from ndcg_ab.errors import message_of, set_secret_remover

# The last words of a key's name, written without anything between: api_key, X-Api-Key and apiKey alike.
NAMES = re.compile(
    r"(password|passwd|passphrase|pwd|secret|apikey|accesskey|secretkey|privatekey|accountkey|authkey|sharedkey|^sig|(amz|goog|access)signature"
    r"|subscriptionkey|signingkey|encryptionkey|adminkey|masterkey|authstring|authorization|credentials?|cookie"
    r"|(?<!eos)(?<!bos)(?<!sep)(?<!pad)(?<!cls)(?<!unk)(?<!mask)(?<!stop)(?<!start)(?<!end)(?<!special)token)$"
)
NO_SECRETS = re.compile(  # values of such keys that are no secrets
    r"|none|null|true|false|yes|no|basic|bearer|required|optional|default|anonymous|change_?me|[x*.•-]+|<.*>|\[.*\]"
    r"|[~.]{0,2}/\S*\.\w{1,6}|env|file|prompt",
    flags=re.IGNORECASE,
)
# A password may hold what an address should have encoded: an @, a slash.  A port is none (``host:80/a@b``).  A path
# that was an address has one slash less.
USERINFO = re.compile(
    r"(?<=[A-Za-z0-9]:/)(?P<slash>/?)(?P<user>[^\s/@:'\"<>\[]{0,256}):(?!\d+(?:[/?#]|$))"
    r"(?P<secret>[^\s/'\"<>]{1,512}|[^\s@'\"<>]{1,512})@(?=[^\s@])"
)
FORMATS = re.compile(
    r"(?P<secret>(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"  # GitHub, GitLab
    r"|sk-(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"  # OpenAI, Anthropic; Stripe
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|dapi[0-9a-f]{32}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|pn[ubs]_[A-Za-z0-9]{30,}"  # Prefect
    r"|eyJ[\w-]{8,1024}\.eyJ[\w-]{8,8192}\.[\w-]*"  # JSON Web Tokens
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))"
)
SCHEMES = re.compile(r"\b(?:Bearer|Basic|ApiKey|Token)\s+(?P<secret>[A-Za-z0-9+/._~-]{12,}=*)")
ASSIGNED = re.compile(r"(?:(?<=[?&;])|(?<![^\s;]))(?P<name>[\w.-]{2,40})=(?P<secret>[^\s&;#'\"]{4,})")
SHAPES = (USERINFO, FORMATS, SCHEMES)
LONGEST_SHAPE = 10_000  # characters by which any of them is recognised: a JSON Web Token's


def has_secret_name(key: object) -> bool:
    """Return whether the name of a key, header or variable suggests a secret."""
    return NAMES.search(re.sub(r"[^a-z0-9]", "", str(key).lower())) is not None


def secrets_in(key: object, text: str) -> Iterator[str]:
    """Yield the parts of a text that look like secrets.

    The whole text is yielded if the name of its key suggests a secret, such as ``password``. Placeholders, file paths
    and parts with `${` are no secrets.
    key: the name of the key, header or variable that holds the text.
    """
    stripped = text.strip()
    if has_secret_name(key) and len(stripped) >= 4 and may_be_plain_secret(stripped):
        yield stripped
        return
    for shape in SHAPES:
        yield from (match["secret"] for match in shape.finditer(text) if may_be_plain_secret(match["secret"]))
    for match in ASSIGNED.finditer(text):
        if has_secret_name(match["name"]) and may_be_plain_secret(match["secret"]):
            yield match["secret"]


def find_plain_secrets(content: Any) -> Iterator[tuple[KeyPath, str]]:
    """Yield (key path, text) for each part of nested content that looks like a secret in plain text."""
    for key_path, text in walk_texts(content):
        name = next((part for part in reversed(key_path) if isinstance(part, str)), "")
        yield from ((key_path, secret) for secret in dict.fromkeys(secrets_in(name, text)))


def may_be_plain_secret(text: str) -> bool:
    """Return whether a text may be a secret in plain text.

    The result is False for a variable `${NAME}`, an already hidden text, a placeholder such as ``changeme``, and a file
    path.
    """
    return "${" not in text and "•••" not in text and not NO_SECRETS.fullmatch(text)


HIDDEN = "•••"
SHORTEST = 4  # letters; a shorter text occurs too often without being a secret
WORD = 12  # letters; a shorter secret of letters and digits alone is looked for as a word of its own
LINE = 16  # least letters of a line of a multi-line secret that is hidden by itself
_known: set[str] = set()


def remember_secret(value: str) -> str:
    """Mark a value as secret, so that it is removed from output, and return the value.

    Its lines and, if it is JSON, the secret values in it are marked, too. Texts of fewer than 4 characters are not
    marked.
    """
    parts = {each for each in secret_parts(value) if len(each) >= SHORTEST}
    if not parts <= _known:
        _known.update(parts)
        clear_secret_caches()
    return value


def remember_plain_secrets(content: Any) -> Any:
    """Mark all parts of nested content that look like secrets, so that they are removed from output.

    The content is returned unchanged.
    """
    for _, secret in find_plain_secrets(content):
        remember_secret(secret)
    return content


def without_plain_secrets(content: Any) -> Any:
    """Return a copy of nested content in which all parts that look like secrets are replaced by ``•••``."""
    hidden: dict[KeyPath, list[str]] = {}
    for key_path, secret in find_plain_secrets(content):
        hidden.setdefault(key_path, []).append(secret)

    def hide(text: str, key_path: KeyPath) -> str:
        for secret in hidden.get(key_path, ()):
            is_short = len(secret) < SHORTEST and text != secret  # in too many words: replaced as a password
            text = text.replace(f":{secret}@", f":{HIDDEN}@") if is_short else text.replace(secret, HIDDEN)
        return text

    return map_texts(content, hide)


def clear_secret_caches() -> None:
    """Clear the caches that are computed from the remembered secrets."""
    secrets_pattern.cache_clear()
    longest_secret.cache_clear()


def secret_parts(value: str) -> Iterator[str]:
    """Yield a secret, and the parts of it that must be hidden, too.

    These are its long lines, as in a PEM file, and the secret values in a JSON object, as for a service account.
    """
    yield value
    yield value.strip()
    if "\n" in value:
        yield " ".join(value.split())
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= LINE)
    if value.lstrip().startswith("{"):
        try:
            content = json.loads(value)
        except (ValueError, RecursionError):
            return
        for key, text in content.items():
            if isinstance(text, str) and has_secret_name(key):
                yield from secret_parts(text)


def secret_patterns(secret: str) -> Iterator[str]:
    """Yield regular expressions for the ways in which a secret can be written in a text.

    It can be plain, quoted or escaped, percent-encoded, or in base64.
    """
    bare = len(secret) < WORD and secret.isalnum()
    yield rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])" if bare else re.escape(secret)
    encoded = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    encoded |= {re.sub("%..", lambda code: code[0].lower(), text) for text in encoded}
    encoded |= {repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    encoded |= {html.escape(secret), html.escape(secret, quote=False), html.escape(secret).replace("&#x27;", "&#39;")}
    encoded |= {ascii(secret)[1:-1], repr(secret.encode())[2:-1], *base64_fragments(secret.encode())}
    yield from map(re.escape, encoded - {secret})


def base64_fragments(secret: bytes) -> Iterator[str]:
    """Yield the texts by which a secret is recognised inside a longer base64 text, at any offset.

    An example is the password in a header of basic authentication.
    """
    for before in range(3):
        text = base64.b64encode(b"\0" * before + secret).decode()
        inner = text[(0, 2, 3)[before] : (before + len(secret)) * 8 // 6]
        if len(inner) > SHORTEST:
            yield from {inner, inner.replace("+", "-").replace("/", "_")}


@cache
def secrets_pattern() -> re.Pattern[str] | None:
    """Return a regular expression that matches every remembered secret, or None if there is none.

    Longer secrets are matched first.
    """
    forms = {form for secret in _known for form in secret_patterns(secret)}
    return re.compile("|".join(sorted(forms, key=len, reverse=True))) if forms else None


@cache
def longest_secret() -> int:
    """Return the length in characters of the longest text that may be recognised as a secret.

    It is at least 10,000, which suffices for the tokens of well-known services.
    """
    return max([LONGEST_SHAPE, *(len(form) for secret in _known for form in secret_patterns(secret))])


def remove_known_secrets(text: str) -> str:
    """Return the text with all remembered secrets hidden."""
    known = secrets_pattern()
    return known.sub(HIDDEN, text) if known else text


def redact(text: str) -> str:
    """Return the text with each remembered secret, and each part that looks like a secret, replaced by ``•••``.

    Passwords in addresses, and tokens of well-known services, look like secrets.
    """
    text = remove_known_secrets(text)
    for shape in SHAPES:
        text = shape.sub(lambda match: match[0].replace(match["secret"], HIDDEN), text)
    return text


set_secret_remover(redact, longest_secret)


def redacted_error(error: BaseException) -> BaseException:
    """Return an error that can be logged, with its causes, without revealing secrets.

    An error without secrets in its message and traceback is returned unchanged. Otherwise a new error with a redacted
    message and without causes is returned. It has the class of the old error if that is a class of this project. All
    others become a RuntimeError such as ``RuntimeError: KeyError: …``.
    """
    text = "".join(traceback.format_exception(error))
    if remove_known_secrets(text) == text and redact(message_of(error)) == message_of(error):
        return error
    kind = type(error)
    message = redact(message_of(error))
    if kind.__module__.startswith("ndcg_"):
        return kind(message)
    return RuntimeError(f"{kind.__name__}: {message}")


class Censor(logging.Filter):
    """A logging filter that removes secrets from log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # the arguments do not fit; the handler reports it
            return True
        if record.exc_info and record.exc_info[1] is not None:
            text = "\n".join((text, "".join(traceback.format_exception(record.exc_info[1])).rstrip()))
        if redact(text) != text:
            record.msg, record.args, record.exc_info, record.exc_text = redact(text), (), None, None
        return True


CENSOR = Censor()


def censor_logs(*loggers: str) -> None:
    """Make the handlers of the loggers remove secrets from log records; repeated calls have no further effect."""
    for name in loggers:
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(CENSOR)
