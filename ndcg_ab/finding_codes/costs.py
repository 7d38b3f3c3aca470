"""Findings about what requests cost."""

from collections.abc import Mapping

from ndcg_ab.finding_codes.code import Code

COST_CODES: Mapping[str, Code] = {
    "failed_time": Code(
        "warning",
        "Requests of a system failed while their times were recorded. An answer would have taken at least the time"
        " until the request was given up, so quantiles on these requests, and the mean, are lower bounds (≥). No"
        " guardrail on times holds where they could break it.",
        "Find out why they failed, and measure again; a larger `timeout` measures more of the slowest ones.",
    ),
    "missing_cost": Code(
        "warning",
        "A cost is not known for some queries of a system: the answer does not contain it, its cell is empty, or the"
        " request failed. These queries are left out of this cost for every system, and what they have in common may"
        " be missing with them.",
        "Look at the queries in the message. If the cost is known to be 0 there, write 0.",
    ),
}
