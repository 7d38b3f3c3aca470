"""Findings about what a document of a ranking is."""

from collections.abc import Mapping

from ndcg_ab.finding_codes.code import Code

DOCUMENT_CODES: Mapping[str, Code] = {
    "document_chunk": Code(
        "note",
        "The ids of a ranking were cut at the sign of `--document-prefix` (`documents: {prefix: …}`). The best chunk of"
        " a document counts; the count says how many further chunks were left out.",
        "Nothing.",
    ),
    "document_copy": Code(
        "note",
        "A document is repeated in the ranking of one query, and the system has duplicates = first: its best place"
        " counts, and the copies are left out.",
        "Nothing, if the copies are meant; two rankings in one file look the same.",
    ),
    "own_document_left_out": Code(
        "note",
        "Documents whose id is that of the query were left out of a ranking (`--own drop`, or the preset beir).",
        "Nothing.",
    ),
    "own_document": Code(
        "warning",
        "A system returns the query itself first in a tenth of its queries or more (at least in three): the document"
        " has the id of the query and no judgment. It takes the first place from a document that is searched for.",
        "If queries are documents of the collection, leave them out: `--own drop` (`documents: {own: drop}`).",
    ),
    "placeholder_document": Code(
        "warning",
        "A ranking has documents that are no documents: the id is a word such as None, nan, null or NO_RESULT, or one"
        " unjudged id is in most of the queries (at least in ten).",
        "Leave these rows out where the ranking is made: a query without results has no row.",
    ),
}
