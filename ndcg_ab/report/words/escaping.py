"""Text from data inside Markdown: in comments on pull requests, notes in MLflow, artifacts in Prefect.

Whoever names a document ``![x](http://…)`` must not have a picture fetched, with the address of the reader, when
somebody opens the note.  Renderers differ: some make links of bare addresses and of ``@somebody`` after they undid
escapes.  There nothing but a character between the signs helps; it takes no room.
"""

import re

from ndcg_ab.visible import visible

JOINER = "\N{WORD JOINER}"
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
SIGNS = re.compile(r"([\\`*_\[\]|~#])")
LIST = re.compile(r"^(\d{1,9})?([-+.)])(?=[-+\s]|$)")  # what would begin an item of a list, or a rule, at the start
LIVE = re.compile(
    r"(?<=:)(?=//)"  # http://
    r"|(?<=www)(?=\.)"  # www.example.com
    r"|(?<=mailto:)|(?<=xmpp:)"
    r"|(?<=@)(?=[\w.+-]+\.\w)"  # somebody@example.com
    r"|(?<![^\W_]@)(?<=@)(?=\w)"  # @somebody
    r"|(?<=#)(?=\d)|(?<=!)(?=\d)|(?<=\bGH-)(?=\d)",  # an issue or a merge request
    re.IGNORECASE,
)


def escape_text(text: str) -> str:
    """Text that Markdown, HTML and those who read them leave as it is, on one line, in a table as well."""
    one_line = " ".join(visible(" ".join(text.split())).split())
    dead = LIVE.sub(JOINER, one_line)
    marked = LIST.sub(r"\1\\\2", SIGNS.sub(r"\\\1", dead))
    return re.sub(r"[&<>$]", lambda found: ENTITIES[found[0]], marked)
