-- query: one query of the judgments or the query file, with text, weight, cluster and probability, if known.
-- grain:  one row per query_id
-- reads:  judgment, pulled_query
-- params: -
-- text, weight, cluster, disagreement: null if the query file does not have them. probability: probability of being
-- drawn for judging; 0 if all systems returned equal results; null if the query was not drawn, or no query was.
-- is_drawn: whether the query counts in the comparison: its probability is above 0, or the file has no probabilities.
-- is_judged: whether the query has a judgment. judged: number of judged documents. is_named: whether the query is in
-- the query file.
with judged_query as (
    select
        query_id,
        count(*) as judged,
    from judgment
    group by query_id
),

asked_query as (
    select
        query_id,
        max(text) as text,
        max(weight) as weight,
        max(cluster) as cluster,
        max(probability) as probability,
        max(disagreement) as disagreement,
    from pulled_query
    group by query_id
),

draw as (
    select count(probability) as probabilities,
    from pulled_query
)

select
    coalesce(judged_query.query_id, asked_query.query_id) as query_id,
    asked_query.text,
    asked_query.weight,
    asked_query.cluster,
    asked_query.probability,
    asked_query.disagreement,
    draw.probabilities = 0 or coalesce(asked_query.probability, 0.0) > 0.0 as is_drawn,
    judged_query.query_id is not null as is_judged,
    coalesce(judged_query.judged, 0) as judged,
    asked_query.query_id is not null as is_named,
from judged_query
full outer join asked_query on judged_query.query_id = asked_query.query_id
cross join draw
