-- shown_result: one of the top `depth` results of a scored query on the report page.
-- grain:  one row per (system_id, query_id, rank)
-- reads:  gain, graded_doc, metric, query_score
-- params: depth
-- grade: null if the document is unjudged. gain: the document's own gain by the first metric; 0 if it is unjudged.
select
    graded_doc.system_id,
    graded_doc.query_id,
    graded_doc.rank,
    graded_doc.doc_id,
    graded_doc.grade,
    coalesce(gain.gain, 0.0) as gain,
from graded_doc
inner join metric on graded_doc.rank_rule = metric.rank_rule
left join gain
    on
        metric.gain_rule = gain.gain_rule
        and graded_doc.grade = gain.grade
where
    metric.position = 0
    and graded_doc.rank <= $depth
    and graded_doc.query_id in (select query_score.query_id, from query_score)
