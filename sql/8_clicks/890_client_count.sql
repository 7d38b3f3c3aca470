-- client_count: how many events of a document come from each client.
-- grain:  one row per (client, query_id, doc_id)
-- reads:  click_event
-- params: -
-- kind:   query
select
    client,
    query_id,
    doc_id,
    count(*) as events,
    count(case when clicked > 0 then 1 end) as clicks,
from click_event
where client is not null
group by
    client,
    query_id,
    doc_id
