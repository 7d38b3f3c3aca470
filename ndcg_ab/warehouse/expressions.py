"""Write the gain, the discount and the value of a metric as SQL expressions."""

import math
from collections.abc import Callable

from ndcg_core.measures.metric import Metric, format_number
from ndcg_core.measures.registry import Divisor, Quotient, RankedGains, accuracy, reciprocal_rank
from ndcg_core.measures.score import discount

LARGEST = 1.7976931348623157e308
MOST_GAIN, MOST_GAIN_OF_SUMS = 1e300, 1e90  # larger ones `compare` refuses (sql/330); the second of dcg and cg
LEAST_LOGARITHM = -700  # of 64-bit numbers; some databases refuse what is smaller
MOST_LITERALS = 20  # up to this cutoff the discounts stand as numbers in the query


def number_literal(value: float) -> str:
    """Return the shortest SQL literal of a number with an exponent.

    Some databases read a literal without an exponent as a decimal.
    """
    text = format_number(value) if abs(value) < 1e15 else repr(value)
    return text.replace("e+", "e") if "e" in text else f"{text}e0"


def finite_sql(column: str) -> str:
    """Return the SQL condition that a number is neither null, infinite nor NaN.

    The condition is right however a database orders NaN.
    """
    return f"abs({column}) <= {number_literal(LARGEST)}"


def named_ids_sql(*columns: str) -> str:
    """Return the SQL condition that ids are neither null nor empty."""
    return " and ".join(f"{column} <> ''" for column in columns)


def largest_gain_without_overflow(metric: Metric) -> float:
    """Return a limit for gains: sums over ranks do not overflow if no gain exceeds the limit."""
    return MOST_GAIN if metric.traits.is_bounded else MOST_GAIN_OF_SUMS


def highest_grade_without_overflow(metric: Metric) -> float:
    """Return the highest grade whose gain can be summed over ranks without overflow.

    If the gain is neither linear nor exponential, no grade is too high, and the largest float is returned.
    """
    most = largest_gain_without_overflow(metric)
    if metric.effective_gain == "linear":
        return most
    if metric.effective_gain != "exponential":
        return LARGEST
    grade = math.log2(most)
    while 2.0**grade - 1.0 > most:
        grade = math.nextafter(grade, 0.0)
    return grade


# ---- gains: of a column that holds a grade

GAINS = {  # name -> the lines of a case
    "linear": ("when {grade} > 0e0 then {grade}", "else 0e0"),
    "exponential": ("when {grade} > 0e0 then power(2e0, {grade}) - 1e0", "else 0e0"),
    "binary": ("when {grade} {relevant} then 1e0", "else 0e0"),
    "judged": ("when {grade} is not null then 1e0",),
}


def gain_pairs(metric: Metric) -> tuple[tuple[float, float], ...]:
    """Return the (grade, gain) pairs of the metric's gain table; () if its gain is a formula."""
    return () if isinstance(metric.effective_gain, str) else metric.effective_gain


def gain_cases(metric: Metric, grade: str) -> list[str]:
    """Return the lines of an SQL case expression for the gain of a grade.

    The expression gives null for a grade that the metric's gain table lacks. grade: the SQL expression of the grade.
    """
    if isinstance(metric.effective_gain, str):
        relevant = "> 0e0" if metric.relevant_from is None else f">= {number_literal(metric.relevant_from)}"
        return [line.format(grade=grade, relevant=relevant) for line in GAINS[metric.effective_gain]]
    worth = (
        f"when {grade} = {number_literal(each)} then {number_literal(gain)}"
        for each, gain in metric.effective_gain
        if each > 0
    )
    return [f"when {grade} <= 0e0 then 0e0", *worth]


def gain_lines(metric: Metric, grade: str, real: str) -> list[str]:
    """Return the lines of an SQL expression for the gain of a grade, cast to a 64-bit float.

    grade: the SQL expression of the grade. real: the SQL type of 64-bit floats.
    """
    cases = [f"        {line}" for line in gain_cases(metric, grade)]
    return ["cast(", "    case", *cases, f"    end as {real}", ")"]


# ---- discounts: of a column that holds a rank

DISCOUNTS = {  # name -> the factor; 0 where a power is below the smallest number, which some databases refuse
    "log2": f"{number_literal(math.log(2))} / ln({{rank}} + 1e0)",
    "jarvelin_kekalainen": "case when {rank} <= {number} then 1e0 else {log} / ln({rank}) end",
    "reciprocal": "1e0 / {rank}",
    "none": "1e0",
    "geometric": "case when {rank} <= {last} then {first} * power({number}, {rank} - 1e0) else 0e0 end",
}


def discount_lines(metric: Metric, rank: str, real: str, deepest: int | None) -> list[str]:
    """Return the lines of an SQL expression for the discount of a rank.

    If there are at most MOST_LITERALS ranks, their discounts are listed as literals; otherwise the expression is a
    formula.

    rank: the SQL expression of the rank.
    real: the SQL type of 64-bit floats.
    deepest: the last rank that counts; None if there is no last rank.
    """
    if metric.effective_discount == "none":
        return ["1e0"]
    if deepest is not None and deepest <= MOST_LITERALS:
        cases = [f"    when {at} then {number_literal(discount(metric, at))}" for at in range(1, deepest + 1)]
        return [f"case {rank}", *cases, "    else 0e0", "end"]
    number = metric.discount_number
    values = {"number": number, "log": math.log(number), "first": 1.0 - number}
    values["last"] = math.floor(LEAST_LOGARITHM / math.log(number))
    literals = {name: number_literal(value) for name, value in values.items()}
    return [DISCOUNTS[metric.effective_discount].format(rank=f"cast({rank} as {real})", **literals)]


# ---- measures: of what is known about one query of one system

DCG = "coalesce(query_dcg.dcg, 0e0)"
BY_FIRST: dict[Callable[[RankedGains], Quotient], str] = {
    accuracy: "1e0",
    reciprocal_rank: "1e0 / cast(query_dcg.first_rank as {real})",
}
"""Function of a measure -> SQL expression of the value, which depends only on the first relevant rank."""


def is_expressible(metric: Metric) -> bool:
    """Return whether one SQL query can compute a metric.

    The metric's gain, discount and measure must have SQL expressions.
    """
    traits, gain = metric.traits, metric.effective_gain
    has_gain = not isinstance(gain, str) or gain in GAINS
    has_value = traits.quotient in BY_FIRST if traits.is_decided_by_first else traits.divisor is not Divisor.OTHER
    return has_gain and has_value and metric.effective_discount in DISCOUNTS


def divides_by_results(metric: Metric) -> bool:
    """Return whether a metric divides the sum over ranks by the number of results within the cutoff."""
    is_open = metric.traits.divisor is Divisor.LENGTH and metric.cutoff is None
    return is_open or metric.traits.divisor is Divisor.SHOWN


def value_case_lines(metric: Metric, real: str) -> list[str]:
    """Return the lines of an SQL case expression for the value of a metric.

    The value depends on the first relevant rank, or is the sum over ranks, divided as the measure requires. A quotient
    with an ideal as divisor is 0 if it may underflow, because some databases refuse an underflow.
    real: the SQL type of 64-bit floats.
    """
    traits = metric.traits
    if traits.is_decided_by_first:
        return [f"when query_dcg.first_rank > 0 then {BY_FIRST[traits.quotient].format(real=real)}", "else 0e0"]
    if divides_by_results(metric):
        return [f"when query_dcg.places > 0 then {DCG} / cast(query_dcg.places as {real})", "else 0e0"]
    if traits.divisor is not Divisor.IDEAL:
        length = metric.cutoff if traits.divisor is Divisor.LENGTH else None
        return [f"else {DCG}" if length is None else f"else {DCG} / {number_literal(length)}"]
    ideal = "query_ideal.ideal" if traits.factors is None else "judged_query.relevant"
    tiny = [f"when {ideal} > 1e0 and {DCG} < 1e-20 then 0e0"] if traits.factors is None else []
    return [*tiny, f"when {ideal} > 0 then {DCG} / {ideal}", "else 0e0"]
