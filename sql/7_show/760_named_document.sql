-- named_document: the title and URL of one document on the report page, as read with the rankings.
-- grain:  one row per (doc_id)
-- reads:  judgment, pulled_document, shown_result
-- params: -
-- kind:   query
-- title, url: null if unknown. Documents with a grade above 0 are included, because the page may list them as missed.
select
    doc_id,
    title,
    url,
from pulled_document
where
    doc_id in (select shown_result.doc_id, from shown_result)
    or doc_id in (
        select judgment.doc_id,
        from judgment
        where judgment.grade > 0
    )
