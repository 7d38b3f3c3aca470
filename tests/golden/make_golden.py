"""Makes the golden data of tests/golden: a small test collection, and what other tools say of it and of small cases.

    python tests/golden/make_golden.py [folder]

Everything is drawn from fixed seeds, and nothing is taken from anybody. The values come from the tools' Python
interfaces (nDCG), from scipy.stats, and from counting every sign pattern in exact fractions (tests); none comes from
ndcg-ab. README.md says which versions of the tools were used: this script writes them there.
"""

import gzip
import importlib.metadata
import io
import itertools
import json
import math
import random
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize
import scipy.stats

HERE = Path(__file__).parent
TOOLS = ("pytrec_eval-terrier", "ir_measures", "ranx", "scikit-learn", "mlflow", "scipy", "numpy")
QUERIES = [f"t{number}" for number in range(101, 141)]
# system: how little it knows, every how many queries one is unanswered (0: none), how many digits its scores have
SYSTEMS = {"words": (1.6, 0, 0), "names": (1.2, 9, 1), "vectors": (1.4, 0, 6), "both": (0.8, 13, 1)}
MEASURES = {"ndcg", "ndcg_cut.3", "ndcg_cut.5", "ndcg_cut.10", "ndcg_cut.20"}

Judgments = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Data = tuple[Judgments, Run]
Pair = tuple[list[float], list[float]]
Case = dict[str, Any]


# ---- the collection


def collection() -> tuple[Judgments, dict[str, Run]]:
    """40 judged queries with grades 0 to 4 and 4 rankings with ties, unjudged documents and gaps.

    Every query has a relevant document; every ranking answers two queries that nobody judged.
    """
    chance = random.Random(20261119)
    judgments: Judgments = {}
    runs: dict[str, Run] = {name: {} for name in SYSTEMS}
    for index, query in enumerate([*QUERIES, "u1", "u2"]):
        worth = {f"D{chance.randrange(10**6):06d}": chance.choice([0, 0, 0, 0, 1, 1, 2, 3, 4]) for _ in range(40)}
        worth[next(iter(worth))] = 2
        if not query.startswith("u"):
            judged = sorted(worth)[: chance.randint(24, 36)]
            judgments[query] = {doc: worth[doc] for doc in judged} | {next(iter(worth)): 2}
        for name, (noise, gap, digits) in SYSTEMS.items():
            if not gap or index % gap:
                scores = {doc: 5 + grade + chance.gauss(0, noise) for doc, grade in worth.items()}
                best = sorted(scores, key=lambda doc: -scores[doc])[: chance.randint(18, 25)]
                runs[name][query] = {doc: round(scores[doc], digits) for doc in best}
    return judgments, runs


def trec_order(found: Mapping[str, float]) -> list[str]:
    """trec_eval's order: the score, then the document id, both descending."""
    return sorted(found, key=lambda doc: (found[doc], doc), reverse=True)


def write_collection(folder: Path) -> None:
    import pytrec_eval

    folder.mkdir(parents=True, exist_ok=True)
    judgments, runs = collection()
    write(folder / "qrels.txt.gz", [f"{q} 0 {doc} {g}" for q, grades in judgments.items() for doc, g in grades.items()])
    rows = ["run\tqid\tmeasure\tvalue"]
    for name, run in runs.items():
        lines = [
            f"{query} Q0 {doc} {rank} {found[doc]!r} {name}"
            for query, found in run.items()
            for rank, doc in enumerate(trec_order(found), start=1)
        ]
        write(folder / f"{name}.run.gz", lines)
        evaluated = pytrec_eval.RelevanceEvaluator(judgments, MEASURES).evaluate(run)
        rows += [
            f"{name}\t{query}\t{measure}\t{value!r}"
            for query in sorted(evaluated)
            for measure, value in sorted(evaluated[query].items())
        ]
    write(folder / "expected_per_query.tsv.gz", rows)


def write(path: Path, lines: Sequence[str]) -> None:
    """Compressed without name or time: the same content gives the same file."""
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, buffer, mtime=0) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    path.write_bytes(buffer.getvalue())


# ---- small cases of nDCG


def trec_eval(measure: str) -> Callable[[Judgments, Run], dict[str, float]]:
    def evaluate(judgments: Judgments, run: Run) -> dict[str, float]:
        import pytrec_eval

        found = pytrec_eval.RelevanceEvaluator(judgments, {measure}).evaluate(run)
        return {query: row[measure.replace(".", "_")] for query, row in found.items()}

    return evaluate


def ir_measures(text: str) -> Callable[[Judgments, Run], dict[str, float]]:
    def evaluate(judgments: Judgments, run: Run) -> dict[str, float]:
        import ir_measures

        return {r.query_id: r.value for r in ir_measures.iter_calc([ir_measures.parse_measure(text)], judgments, run)}

    return evaluate


def gdeval(cutoff: int) -> Callable[[Judgments, Run], dict[str, float]]:
    """The script that ir_measures brings along; it prints five digits."""
    return ir_measures(f"nDCG(dcg='exp-log2')@{cutoff}")


def ranx(metric: str) -> Callable[[Judgments, Run], dict[str, float]]:
    def evaluate(judgments: Judgments, run: Run) -> dict[str, float]:
        import ranx

        found = ranx.Run(run)
        ranx.evaluate(ranx.Qrels(judgments), found, metric, make_comparable=True)
        return {query: float(value) for query, value in found.scores[metric].items()}

    return evaluate


def scikit_learn(function: str, cutoff: int | None) -> Callable[[Judgments, Run], dict[str, float]]:
    def evaluate(judgments: Judgments, run: Run) -> dict[str, float]:
        import sklearn.metrics

        score = getattr(sklearn.metrics, function)
        return {
            query: float(score([list(grades.values())], [[run[query][doc] for doc in grades]], k=cutoff))
            for query, grades in judgments.items()
        }

    return evaluate


def mlflow(cutoff: int) -> Callable[[Judgments, Run], dict[str, float]]:
    def evaluate(judgments: Judgments, run: Run) -> dict[str, float]:
        import mlflow.metrics
        import pandas as pd

        retrieved = [trec_order(run.get(query, {})) for query in judgments]
        relevant = [[doc for doc, grade in judgments[query].items() if grade > 0] for query in judgments]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric = mlflow.metrics.ndcg_at_k(cutoff)
        found = metric.eval_fn(pd.Series(retrieved), pd.Series(relevant))
        return dict(zip(judgments, map(float, found.scores), strict=True))

    return evaluate


def small(
    seed: int, documents: int, *, ties: bool, whole: bool = False, negative: bool = False
) -> tuple[Judgments, Run]:
    """Two or three queries; `whole`: every judged document is returned, and no other."""
    chance = random.Random(seed)
    judgments: Judgments = {}
    run: Run = {}
    for query in map(str, range(chance.randint(2, 3))):
        docs = [f"d{index}" for index in range(documents)]
        grades = [-1 if negative else 0, 0, 1, 2, 3]
        judgments[query] = {doc: chance.choice(grades) for doc in docs} | {"d0": chance.randint(1, 3)}
        returned = docs if whole else chance.sample([*docs, "x0", "x1", "x2"], documents)
        tied = [chance.choice([0.25, 0.5, 0.75]) for _ in returned]
        scores = tied if ties else [place / 1000 for place in chance.sample(range(1000), len(returned))]
        run[query] = dict(zip(returned, scores, strict=True))
    return judgments, run


def ndcg_cases() -> list[Case]:
    """What the tools' Python interfaces say of small judgments and rankings."""
    plain, tied, negative = small(1, 8, ties=False), small(2, 8, ties=True), small(3, 6, ties=False, negative=True)
    complete, level = small(8, 7, ties=True, whole=True), small(5, 7, ties=False, whole=True)
    exponential, average = "ndcg(gain=exponential)", "ndcg(ties=average)"
    asked: list[tuple[str, str, str, str | None, Any, Data, float]] = [
        # id, tool, metric of ours, preset, what the tool is asked, the data, tolerance
        ("trec_eval-whole", "pytrec_eval-terrier", "ndcg", "trec_eval-9", trec_eval("ndcg"), negative, 1e-12),
        ("trec_eval-3", "pytrec_eval-terrier", "ndcg@3", "trec_eval-9", trec_eval("ndcg_cut.3"), plain, 1e-12),
        ("trec_eval-ties", "pytrec_eval-terrier", "ndcg@5", "trec_eval-9", trec_eval("ndcg_cut.5"), tied, 1e-12),
        ("ir_measures-5", "ir_measures", "ndcg@5", "trec_eval-9", ir_measures("nDCG@5"), plain, 1e-12),
        ("gdeval-20", "ir_measures", f"{exponential}@20", "gdeval", gdeval(20), plain, 6e-6),
        ("gdeval-ties", "ir_measures", f"{exponential}@3", "gdeval", gdeval(3), tied, 6e-6),
        ("ranx-10", "ranx", "ndcg@10", "ranx", ranx("ndcg@10"), plain, 1e-12),
        ("ranx-3", "ranx", "ndcg@3", "ranx", ranx("ndcg@3"), level, 1e-12),
        ("ranx-burges", "ranx", "ndcg(gain=exponential)@10", None, ranx("ndcg_burges@10"), plain, 1e-12),
        ("ranx-dcg", "ranx", "dcg@4", None, ranx("dcg@4"), plain, 1e-12),
        ("ranx-dcg-burges", "ranx", "dcg(gain=exponential)@4", None, ranx("dcg_burges@4"), plain, 1e-12),
        ("sklearn-ties-1", "scikit-learn", f"{average}@1", "sklearn", scikit_learn("ndcg_score", 1), complete, 1e-12),
        ("sklearn-ties-3", "scikit-learn", f"{average}@3", "sklearn", scikit_learn("ndcg_score", 3), complete, 1e-12),
        ("sklearn-whole", "scikit-learn", "ndcg", "sklearn", scikit_learn("ndcg_score", None), level, 1e-12),
        ("sklearn-dcg", "scikit-learn", "dcg(ties=average)@4", None, scikit_learn("dcg_score", 4), complete, 1e-12),
        ("mlflow-3", "mlflow", "ndcg(preset=mlflow)@3", "mlflow", mlflow(3), level, 1e-12),
    ]  # fmt: skip
    return [
        {
            "id": name,
            "tool": tool,
            "metric": metric,
            "preset": preset,
            "qrels": data[0],
            "run": data[1],
            "expected": evaluate(*data),
            "abs_tol": tolerance,
        }
        for name, tool, metric, preset, evaluate, data, tolerance in asked
    ]


# ---- cases of the statistics


def patterns_reaching(differences: Sequence[Fraction]) -> tuple[int, int]:
    """How many sign patterns have a sum at least as far from 0 as the differences', and how many there are."""
    nonzero = [value for value in differences if value]
    sums = {Fraction(0): 1}
    for value in nonzero:
        grown: dict[Fraction, int] = {}
        for total, count in sums.items():
            for signed in (total + value, total - value):
                grown[signed] = grown.get(signed, 0) + count
        sums = grown
    total = abs(sum(nonzero, Fraction(0)))
    return sum(count for value, count in sums.items() if abs(value) >= total), 2 ** len(nonzero)


def paired(seed: int, queries: int, digits: int, ties: int, shift: float, bound: float = 1.0) -> Pair:
    """Two systems' values, decimals of so many digits, the last queries tied."""
    chance = np.random.default_rng(seed)
    x = np.round(chance.uniform(0, bound, queries), digits)
    y = np.round(np.clip(x - chance.normal(shift, bound / 6, queries), 0, None), digits)
    y = np.where(x == y, np.round(x + 10.0**-digits, digits), y)
    y[queries - ties :] = x[queries - ties :]
    return x.tolist(), y.tolist()


def exact(x: Sequence[float], y: Sequence[float]) -> list[Fraction]:
    return [Fraction(str(a)) - Fraction(str(b)) for a, b in zip(x, y, strict=True)]


def t_values(differences: Any, margin: float = math.inf) -> Case:
    """Everything that scipy.stats says about the mean of differences."""
    differences = np.asarray(differences, dtype=float)
    n, mean, deviation = len(differences), float(np.mean(differences)), float(np.std(differences, ddof=1))
    found = scipy.stats.ttest_1samp(differences, 0)
    ci95, ci90 = (list(map(float, found.confidence_interval(level))) for level in (0.95, 0.9))
    greater = scipy.stats.ttest_1samp(differences, -margin, alternative="greater").pvalue if margin < 1e9 else 0.0
    less = scipy.stats.ttest_1samp(differences, margin, alternative="less").pvalue if margin < 1e9 else 0.0
    p_tost = float(max(greater, less))
    return {
        "mean": mean,
        "var": deviation**2,
        "dz": mean / deviation,
        "t": float(found.statistic),
        "df": n - 1,
        "p_t": float(found.pvalue),
        "ci95": ci95,
        "ci90": ci90,
        "moe95": (ci95[1] - ci95[0]) / 2,
        "se": deviation / math.sqrt(n),
        "p_tost": p_tost,
        "equivalent": p_tost <= 0.05,
    }


def sign_flip_values(differences: Sequence[Fraction]) -> Case:
    reaching, total = patterns_reaching(differences)
    return {"count": reaching, "p_two_sided": reaching / total}


def step_down(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Max-T over every pattern, in whole numbers: the counts of each column alone, and stepping down."""
    columns = list(zip(*table, strict=True))
    squares = [sum(value * value for value in column) for column in columns]
    sizes = [Fraction(sum(column) ** 2, square) for column, square in zip(columns, squares, strict=True)]
    raw, stepped = [0] * len(columns), [0] * len(columns)
    for pattern in itertools.product((1, -1), repeat=len(table)):
        sums = [sum(sign * value for sign, value in zip(pattern, column, strict=True)) for column in columns]
        flipped = [Fraction(total**2, square) for total, square in zip(sums, squares, strict=True)]
        for index, size in enumerate(sizes):
            raw[index] += flipped[index] >= size
            stepped[index] += any(f >= size for f, other in zip(flipped, sizes, strict=True) if other <= size)
    raised = [max(c for c, other in zip(stepped, sizes, strict=True) if other >= size) for size in sizes]
    assert raised != stepped, "the case is to show the monotone step: take another seed"
    return raw, raised


def detectable(n: int) -> tuple[float, float]:
    """The effect in deviations found with 80 % power at alpha .05: by the noncentral t, and by adding two quantiles."""
    t = scipy.stats.t(n - 1)

    def power(effect: float) -> float:
        shifted = scipy.stats.nct(n - 1, effect * math.sqrt(n))
        return float(shifted.sf(t.ppf(0.975)) + shifted.cdf(-t.ppf(0.975))) - 0.8

    added = float(t.ppf(0.975) + t.ppf(0.8)) / math.sqrt(n)
    return float(scipy.optimize.brentq(power, added / 2, added * 2)), added


def statistics_cases() -> list[Case]:
    chance = np.random.default_rng(1119)
    found: list[Case] = []

    def add(name: str, source: str, inputs: Case, expected: Case) -> None:
        found.append({"id": name, "source": source, "inputs": inputs, "expected": expected})

    for name, values in (
        ("twenty_queries", paired(1, 20, 1, 5, 0.16)),
        ("nine_pairs", paired(2, 9, 3, 0, 0.3, 3.0)),
        ("ten_with_a_tie", paired(3, 10, 1, 1, 1.2, 5.0)),
    ):
        x, y = values
        values = t_values(np.subtract(x, y), 0.6) | sign_flip_values(exact(x, y))
        if name == "nine_pairs":
            values["wilcoxon_two"] = float(scipy.stats.wilcoxon(np.subtract(x, y), method="exact").pvalue)
        inputs = {"x": x, "y": y, "margin": 0.6}
        add(name, "scipy.stats (t, Wilcoxon); every sign pattern in fractions", inputs, values)
    whole = (chance.choice(np.arange(5, 90), 15, replace=False) * chance.choice([1, 1, 1, -1], 15)).tolist()
    expected = t_values(whole) | sign_flip_values([Fraction(value) for value in whole])
    expected["wilcoxon_exact"] = float(scipy.stats.wilcoxon(whole, method="exact").pvalue)
    add("fifteen_whole_numbers", "scipy.stats (t, Wilcoxon); every sign pattern", {"d": whole}, expected)
    near = {"x": [0.3, 0.625, 0.175, 0.7], "y": [0.325, 0.575, 0.125, 0.75]}
    ranks = scipy.stats.rankdata([abs(value) for value in exact(**near)])
    above = [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in itertools.product((0, 1), repeat=4)]
    observed = sum(rank for rank, value in zip(ranks, exact(**near), strict=True) if value > 0)
    share = sum(total >= observed for total in above) / len(above)
    add("equal_but_for_rounding", "every set of ranks", near, {"wilcoxon_greater_ties_respected": share})
    sparse = [-0.1, -0.2, -0.1, 0.1, -0.1, -0.3, -0.1, -0.1]
    expected = t_values([*sparse, *[0.0] * 292]) | sign_flip_values([Fraction(str(value)) for value in sparse])
    add("eight_of_300", "scipy.stats (t); every sign pattern", {"n": 300, "nonzero_d": sparse}, expected)
    correlated = np.random.default_rng(38)
    table = (correlated.normal(300, 800, (12, 1)) + correlated.normal(0, 700, (12, 4))).astype(int).tolist()
    raw, raised = step_down(table)
    add("twelve_by_four", "every sign pattern, in whole numbers", {"D": table}, {"raw": raw, "step_down": raised})
    drawn = [*chance.uniform(0, 0.02, 6), *chance.uniform(0, 0.06, 4), *chance.uniform(0, 1, 5)]
    p = np.round(chance.permutation(drawn), 4).tolist()
    bh = scipy.stats.false_discovery_control(p).tolist()
    expected = {"bh": bh, "bh_rejections": sum(value <= 0.05 for value in bh)}
    add("fifteen_p_values", "scipy.stats.false_discovery_control", {"p": p}, expected)
    ns = [12, 25, 60, 150, 400, 2_500, 20_000, 100_000]
    effects = {"mde_nct": [detectable(n)[0] for n in ns], "mde_t_plus_t": [round(detectable(n)[1], 6) for n in ns]}
    add("detectable_effects", "scipy.stats.nct, scipy.stats.t", {"n": ns}, effects)
    return found


def main(folder: Path) -> None:
    write_collection(folder / "collection")
    for name, cases in (("ndcg_cases", ndcg_cases()), ("statistics_cases", statistics_cases())):
        text = json.dumps(cases, indent=1)
        text = re.sub(r"\n +(?=[-\d\]])", " ", text)  # lists of numbers on one line
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    readme = HERE / "README.md"
    versions = ", ".join(f"{tool} {importlib.metadata.version(tool)}" for tool in TOOLS)
    text = readme.read_text(encoding="utf-8")
    text = re.sub(r"(?<=<!-- versions -->\n).*(?=\n<!-- end of versions -->)", versions, text, flags=re.DOTALL)
    if folder == HERE:
        readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
