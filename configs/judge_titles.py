"""A judge for a beginning: how many of a query's words stand in a document's title.

    more_judgments: [{python: judge_titles:words_in_title}]

A function may ask a model instead; what it returned for the same content is not asked again (docs/judging.md).
"""

from ndcg_ab import Document, Query


def words_in_title(query: Query, document: Document, most: int = 3) -> int | None:
    """Return a grade from 0 to `most`, the number of the query's words in the title; None if the title is unknown."""
    if document.title is None:
        return None
    title = document.title.lower().split()
    return min(most, sum(word in title for word in query.text.lower().split()))
