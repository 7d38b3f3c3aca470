"""Gains, discounts and measures as expressions of SQL, one for each entry of the registry."""

import math
from collections.abc import Callable, Mapping

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import discount
from ndcg_core.measures.writing import format_number

LARGEST = 1.7976931348623157e308
MOST_GAIN, MOST_GAIN_OF_SUMS = 1e300, 1e90  # larger ones `compare` refuses (sql/330); the second of dcg and cg
SUMS = ("dcg", "cg")
LEAST_LOGARITHM = -700  # of 64-bit numbers; some databases refuse what is smaller
MOST_LITERALS = 20  # up to this cutoff the discounts stand as numbers in the query


def number_literal(value: float) -> str:
    """The shortest text of the same number, with an exponent: one without is a decimal in some databases."""
    text = format_number(value) if abs(value) < 1e15 else repr(value)
    return text.replace("e+", "e") if "e" in text else f"{text}e0"


def is_finite_sql(column: str) -> str:
    """Whether a number is there and finite; NaN is above all numbers in some databases, and beside them in others."""
    return f"abs({column}) <= {number_literal(LARGEST)}"


def is_named_sql(*columns: str) -> str:
    """Whether ids are there: neither null nor empty."""
    return " and ".join(f"{column} <> ''" for column in columns)


def largest_addable_gain(metric: Metric) -> float:
    """The largest gain that can be added up."""
    return MOST_GAIN_OF_SUMS if metric.measure in SUMS else MOST_GAIN


def highest_addable_grade(metric: Metric) -> float:
    """The highest grade whose gain by a rule can be added up; a table says it of each of its grades."""
    most = largest_addable_gain(metric)
    if metric.effective_gain == "linear":
        return most
    if metric.effective_gain != "exponential":
        return LARGEST
    grade = math.log2(most)
    while 2.0**grade - 1.0 > most:
        grade = math.nextafter(grade, 0.0)
    return grade


# ---- gains: of a column that holds a grade


def linear_gain(_: Metric, grade: str) -> list[str]:
    return [f"when {grade} > 0e0 then {grade}", "else 0e0"]


def exponential_gain(_: Metric, grade: str) -> list[str]:
    return [f"when {grade} > 0e0 then power(2e0, {grade}) - 1e0", "else 0e0"]


def binary_gain(metric: Metric, grade: str) -> list[str]:
    least = "> 0e0" if metric.relevant_from is None else f">= {number_literal(metric.relevant_from)}"
    return [f"when {grade} {least} then 1e0", "else 0e0"]


def judged_gain(_metric: Metric, grade: str) -> list[str]:
    return [f"when {grade} is not null then 1e0"]


def table_gain(metric: Metric, grade: str) -> list[str]:
    """By the gain table; null for a grade that it lacks."""
    worth = [
        f"when {grade} = {number_literal(each)} then {number_literal(gain)}"
        for each, gain in gain_pairs(metric)
        if each > 0
    ]
    return [f"when {grade} <= 0e0 then 0e0", *worth]


def gain_pairs(metric: Metric) -> tuple[tuple[float, float], ...]:
    """The gain table, or nothing."""
    return () if isinstance(metric.effective_gain, str) else metric.effective_gain


GAINS: Mapping[str, Callable[[Metric, str], list[str]]] = {
    "linear": linear_gain,
    "exponential": exponential_gain,
    "binary": binary_gain,
    "judged": judged_gain,
}


def gain_cases(metric: Metric, grade: str) -> list[str]:
    """What a grade is worth: the lines of a case."""
    by_name = metric.effective_gain
    return GAINS[by_name](metric, grade) if isinstance(by_name, str) else table_gain(metric, grade)


def gain_lines(metric: Metric, grade: str, real: str) -> list[str]:
    """The gain of a grade; as a 64-bit number, whatever the database takes numbers with an exponent for."""
    cases = [f"        {line}" for line in gain_cases(metric, grade)]
    return ["cast(", "    case", *cases, f"    end as {real}", ")"]


# ---- discounts: of a column that holds a rank


def log2_discount(_: Metric, rank: str) -> str:
    return f"{number_literal(math.log(2))} / ln({rank} + 1e0)"


def base_discount(metric: Metric, rank: str) -> str:
    base = number_literal(metric.discount_base)
    return f"case when {rank} <= {base} then 1e0 else {number_literal(math.log(metric.discount_base))} / ln({rank}) end"


def rank_discount(_: Metric, rank: str) -> str:
    return f"1e0 / {rank}"


def persistence_discount(metric: Metric, rank: str) -> str:
    """0 where the power is below the smallest number, which some databases refuse."""
    persistence, last = metric.persistence, math.floor(-LEAST_LOGARITHM / -math.log(metric.persistence))
    factor = f"{number_literal(1.0 - persistence)} * power({number_literal(persistence)}, {rank} - 1e0)"
    return f"case when {rank} <= {number_literal(last)} then {factor} else 0e0 end"


def no_discount(_metric: Metric, _rank: str) -> str:
    return "1e0"


DISCOUNTS: Mapping[str, Callable[[Metric, str], str]] = {
    "log2": log2_discount,
    "jarvelin_kekalainen": base_discount,
    "reciprocal": rank_discount,
    "none": no_discount,
    "geometric": persistence_discount,
}


def discount_lines(metric: Metric, rank: str, real: str, deepest: int | None) -> list[str]:
    """The factor of a rank, in lines: as numbers where few ranks count, else by its formula."""
    formula = DISCOUNTS[metric.effective_discount](metric, f"cast({rank} as {real})")
    if deepest is None or deepest > MOST_LITERALS or formula == "1e0":
        return [formula]
    cases = [f"    when {place} then {number_literal(discount(metric, place))}" for place in range(1, deepest + 1)]
    return [f"case {rank}", *cases, "    else 0e0", "end"]


def sum_discounts(metric: Metric, cutoff: int) -> float:
    """The sum of the factors of the first ranks."""
    return math.fsum(discount(metric, rank) for rank in range(1, cutoff + 1))


# ---- measures: of what is known about one query of one system

DCG = "coalesce(query_dcg.dcg, 0e0)"


def quotient_lines(above: str, column: str, below: str) -> list[str]:
    return [f"when {column} > 0 then {above} / {below}", "else 0e0"]


def normalised_value(_: Metric, _real: str) -> list[str]:
    """0 where the quotient may be below the smallest number, which some databases refuse."""
    ideal = "query_ideal.ideal"
    return [f"when {ideal} > 1e0 and {DCG} < 1e-20 then 0e0", *quotient_lines(DCG, ideal, ideal)]


def cumulated_value(_metric: Metric, _real: str) -> list[str]:
    return [f"else {DCG}"]


def accuracy_value(_metric: Metric, _real: str) -> list[str]:
    return ["when query_dcg.dcg > 0e0 then 1e0", "else 0e0"]


def precision_value(metric: Metric, real: str) -> list[str]:
    return (
        judged_share_value(metric, real) if metric.cutoff is None else [f"else {DCG} / {number_literal(metric.cutoff)}"]
    )


def recall_value(_metric: Metric, _real: str) -> list[str]:
    return quotient_lines(DCG, "judged_query.relevant", "judged_query.relevant")


def judged_share_value(_: Metric, real: str) -> list[str]:
    return quotient_lines(DCG, "query_dcg.places", f"cast(query_dcg.places as {real})")


def reciprocal_rank_value(_: Metric, real: str) -> list[str]:
    return quotient_lines("1e0", "query_dcg.first_rank", f"cast(query_dcg.first_rank as {real})")


MEASURES: Mapping[str, Callable[[Metric, str], list[str]]] = {
    "ndcg": normalised_value,
    "dcg": cumulated_value,
    "cg": cumulated_value,
    "accuracy": accuracy_value,
    "precision": precision_value,
    "recall": normalised_value,
    "rr": reciprocal_rank_value,
    "judged": judged_share_value,
    "ap": recall_value,
    "rbp": cumulated_value,
    "err": cumulated_value,
    "rprec": recall_value,
    "bpref": recall_value,
    "infap": recall_value,
}
NEEDS_PLACES, NEEDS_FIRST_RANK = (judged_share_value, precision_value), (reciprocal_rank_value,)
