"""What looks like a secret: the names of keys that hold one, and the shapes of well-known ones."""

import re
from collections.abc import Iterator
from typing import Any

from ndcg_ab.config.walking import Place, walk_texts

# The last words of a key's name, written without anything between: api_key, X-Api-Key and apiKey alike.
NAMES = re.compile(
    r"(password|passwd|passphrase|pwd|secret|apikey|accesskey|secretkey|privatekey|accountkey|authkey|sharedkey|^sig|(amz|goog|access)signature"
    r"|subscriptionkey|signingkey|encryptionkey|adminkey|masterkey|authstring|authorization|credentials?|cookie"
    r"|(?<!eos)(?<!bos)(?<!sep)(?<!pad)(?<!cls)(?<!unk)(?<!mask)(?<!stop)(?<!start)(?<!end)(?<!special)token)$"
)
NO_SECRETS = re.compile(  # what is at such a key, and is none
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
LONGEST_SHAPE = 10_000  # characters after which each of them is known for what it is: a JSON Web Token's


def has_secret_name(key: object) -> bool:
    """Whether a key, a header or a variable is named like one that holds a secret."""
    bare = re.sub(r"[^a-z0-9]", "", str(key).lower())
    return NAMES.search(bare) is not None


def secrets_in(key: object, text: str) -> Iterator[str]:
    """What looks like a secret in the text that is at a key, as it is there; references with `${` excepted."""
    bare = text.strip()
    if has_secret_name(key) and len(bare) >= 4 and is_plain(bare):
        yield bare
        return
    for shape in SHAPES:
        yield from (found["secret"] for found in shape.finditer(text) if is_plain(found["secret"]))
    for found in ASSIGNED.finditer(text):
        if has_secret_name(found["name"]) and is_plain(found["secret"]):
            yield found["secret"]


def find_plain_secrets(content: Any) -> Iterator[tuple[Place, str]]:
    """Yield what looks like a secret in lists and mappings, with the place of each."""
    for place, text in walk_texts(content):
        name = next((part for part in reversed(place) if isinstance(part, str)), "")
        yield from ((place, secret) for secret in dict.fromkeys(secrets_in(name, text)))


def is_plain(text: str) -> bool:
    """Whether it is there as it is: no variable, nothing that is hidden already, nothing that stands for one."""
    return "${" not in text and "•••" not in text and not NO_SECRETS.fullmatch(text)
