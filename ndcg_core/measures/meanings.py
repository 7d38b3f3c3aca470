"""Describe every measure and every choice in a few words, for help texts and pages.

A test checks that every measure, choice and value of a choice is described. Definitions: docs/definitions.md.
"""

MEASURE_MEANINGS = {
    "ndcg": "DCG, divided by the DCG of the ideal order",
    "dcg": "sum of gain · discount over the places",
    "cg": "sum of the gains, without discount",
    "accuracy": "1 when something relevant is within the cutoff, else 0",
    "precision": "relevant documents within the cutoff / k",
    "recall": "relevant documents within the cutoff / all relevant ones",
    "rr": "1 / rank of the first relevant document",
    "judged": "share of what was returned within the cutoff that is judged",
    "ap": "sum of the precisions at the relevant documents within the cutoff / all relevant ones",
    "rbp": "sum of (1 − p) · p^(rank − 1) over the relevant documents, p the persistence",
    "err": "expected 1 / rank at which a user stops, satisfied with chance (2^grade − 1) / 2^max_grade",
    "rprec": "precision at as many places as documents are relevant",
    "bpref": "share of the judged non-relevant documents below each relevant one, averaged",
    "infap": "ap as expected where only a part of a pool was judged; a grade below 0 marks the other part",
}
# For whoever decides and knows no formula; {results} stands for "the first 10 results", or "the results".
PLAIN_MEANINGS = {
    "ndcg": "how close {results} come to the best order of what is judged",
    "dcg": "how much {results} are worth, those further down less",
    "cg": "how much {results} are worth, wherever they stand",
    "accuracy": "whether something relevant is among {results}",
    "precision": "how much of {results} is relevant",
    "recall": "how much of everything relevant is among {results}",
    "rr": "how soon the first relevant one of {results} comes",
    "judged": "how much of {results} somebody has judged",
    "ap": "how early the relevant ones of {results} come, and how many of all relevant ones they are",
    "rbp": "how much that is relevant a user finds who goes through {results} and stops at some place",
    "err": "how soon a user finds enough among {results}",
    "rprec": "how much is relevant of as many results as there are relevant documents",
    "bpref": "how far relevant results stand above judged others",
    "infap": "how early the relevant results come, estimated where only a part was judged",
}
CHOICE_MEANINGS = {
    "cutoff": "the ranks that count: @k; without it everything returned",
    "gain": "what a grade is worth",
    "relevant_from": "the lowest relevant grade; without it any grade above 0",
    "discount": "the factor of a rank",
    "discount_base": "b of jarvelin_kekalainen, above 1",
    "persistence": "p of rbp, above 0 and below 1: the chance that a user looks at the next result",
    "ideal": "what nDCG divides by: the best order of …",
    "recall_depth": "results that the ideal looks at; without it all of them",
    "max_grade": "the grade in every place, or that satisfies most; without it the highest judged",
    "ideal_cut": "where the ideal order ends",
    "ties": "the order of equal scores",
    "score_precision": "what scores are compared as",
    "unjudged": "a result that nobody judged",
    "negative": "a grade below 0",
    "unanswered": "a judged query for which the system returned nothing",
    "no_relevant": "a query without anything relevant among its judgments",
    "duplicates": "a document twice in one ranking",
}
VALUE_MEANINGS: dict[str, dict[str, str]] = {
    "gain": {
        "linear": "the grade",
        "exponential": "2^grade − 1",
        "binary": "1 from relevant_from on, else 0",
    },
    "discount": {
        "log2": "1 / log2(rank + 1)",
        "jarvelin_kekalainen": "1 / max(1, log_b(rank)): none up to rank b",
        "reciprocal": "1 / rank",
        "none": "1",
    },
    "ideal": {
        "global": "all judged documents of the query",
        "local": "the system's own top k",
        "recall": "the system's own top recall_depth",
        "max": "documents of the highest grade, as many as there are places",
    },
    "ideal_cut": {
        "cutoff": "at k",
        "none": "nowhere",
        "returned": "at k, or where the results end if that is sooner",
    },
    "ties": {
        "doc_id_desc": "by document id, descending, as trec_eval does",
        "doc_id_asc": "by document id, ascending",
        "average": "none: every place of a tie gets its mean gain",
        "given": "the ranking's own ranks; scores are ignored",
    },
    "score_precision": {
        "double": "64-bit numbers",
        "float32": "32-bit numbers, as trec_eval 9 does",
    },
    "unjudged": {
        "zero": "gains nothing",
        "condense": "is taken out before ranks are given",
    },
    "negative": {
        "zero": "gains nothing",
        "error": "is refused",
        "unjudged": "with unjudged = condense its document is taken out as well, as trec_eval -J does",
    },
    "unanswered": {
        "zero": "scores 0",
        "exclude": "is left out for that system",
    },
    "no_relevant": {
        "exclude": "is left out for every system",
        "zero": "scores 0",
        "one": "scores 1",
    },
    "duplicates": {
        "error": "is refused",
        "first": "counts once, where it stands better",
    },
}
TABLE_MEANING = "a gain for each grade, as in gain={1:1, 2:3}"
