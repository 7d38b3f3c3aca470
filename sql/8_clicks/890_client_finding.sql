-- client_finding: one client with improbably many events, or one document with most clicks from one client.
-- grain:  one row per (code, client, query_id, doc_id)
-- reads:  click_event
-- params: bot_events, bot_times, fewest_clients, one_client_clicks, usual_share
-- kind:   query
-- code: click_bot for a client, click_one_client for a document. click_bot: amount: the client's events. usual: the
-- number of events that usual_share of the clients do not exceed. total: the events of all clients. clients: number of
-- clients. With fewer than fewest_clients clients there is no row, because too few show what is usual.
-- click_one_client: amount: the document's clicks by the client with most of them. total: the document's clicks by all
-- clients. Columns that do not belong to the code are null.
with client_total as (
    select
        client,
        count(*) as events,
    from click_event
    where client is not null
    group by client
),

client_order as (
    select
        events as usual,
        events * $bot_times as most,
        row_number() over (
            order by
                events,
                client
        ) as position,
    from client_total
),

client_overview as (
    select
        count(*) as clients,
        cast(sum(events) as bigint) as total,
        greatest(ceil(count(*) * $usual_share), 1) as usual_position,
    from client_total
    having count(*) >= $fewest_clients
),

usual_client as (
    select
        client_order.usual,
        client_order.most,
        client_overview.clients,
        client_overview.total,
    from client_overview
    inner join client_order on client_overview.usual_position = client_order.position
),

busy_client as (
    select
        client,
        events,
    from client_total
    where events >= $bot_events
),

client_clicks as (
    select
        client,
        query_id,
        doc_id,
        count(*) as events,
    from click_event
    where
        client is not null
        and clicked > 0
    group by
        client,
        query_id,
        doc_id
),

document_clicks as (
    select
        query_id,
        doc_id,
        max(events) as amount,
        cast(sum(events) as bigint) as total,
    from client_clicks
    group by
        query_id,
        doc_id
)

select
    'click_bot' as code,
    busy_client.client,
    null as query_id,
    null as doc_id,
    busy_client.events as amount,
    usual_client.total,
    usual_client.usual,
    usual_client.clients,
from busy_client
inner join usual_client on busy_client.events > usual_client.most
union all
select
    'click_one_client' as code,
    null as client,
    query_id,
    doc_id,
    amount,
    total,
    null as usual,
    null as clients,
from document_clicks
where
    total >= $one_client_clicks
    and 2 * amount > total
