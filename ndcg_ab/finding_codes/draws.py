"""Findings about queries that were drawn to be judged."""

from collections.abc import Mapping

from ndcg_ab.finding_codes.code import Code

DRAW_CODES: Mapping[str, Code] = {
    "drawn_queries": Code(
        "note",
        "The judged queries were drawn from a log (column `probability`). Differences are those over the whole log;"
        " means of systems and relative changes are over the queries that it was drawn from, whose results differ.",
        "Nothing. `--unweighted` (`weighted: false`) takes the judged queries as they are.",
    ),
    "drawn_unjudged": Code(
        "warning",
        "Some of the drawn queries have no judgment. The others stand for them, which is right only if it was left to"
        " chance which are judged.",
        "Judge them; or draw again, as many as can be judged.",
    ),
    "not_drawn": Code(
        "note",
        "Some judged queries were not drawn, or show the same in every system. They are left out: they stand for"
        " nothing but themselves, and where nothing differs the difference is known to be 0.",
        "Nothing; to count them, `--unweighted`, which then says nothing about the log.",
    ),
    "no_longer_zero": Code(
        "warning",
        "The systems show different results for queries whose difference the file of queries takes to be 0: other"
        " rankings than those it was drawn for, or a metric that looks deeper. What they win or lose there is not"
        " known. Bounds allow for it where the metric's range is known; a decision that it could turn is `judge more"
        " results`.",
        "Draw again for these rankings and metrics, with `--kept` and the present file: its queries are kept, and"
        " others added.",
    ),
    "proxy_not_whole": Code(
        "note",
        "Queries were drawn from a log, and some of it that differ between systems have no proxy judgments: these"
        " correct no difference.",
        "Let the proxy judge grade the first results of every query of the log that differs.",
    ),
}
