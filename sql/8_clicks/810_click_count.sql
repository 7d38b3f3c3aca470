-- click_count: how often a document was shown at a place for a query, and how often it was clicked there.
-- grain:  one row per (query_id, doc_id, place)
-- reads:  click_event
-- params: -
-- impressions, clicks: of one search at most one, whatever was logged twice; a click says that the document was shown.
-- Events without a search are counted as they are. shown_events, click_events: every event, as OpenSearch counts them.
with running_count as (
    select
        query_id,
        doc_id,
        place,
        search_id,
        clicked,
        sum(shown) over (
            partition by
                query_id,
                doc_id,
                place
            order by event
            rows between unbounded preceding and current row
        ) as shown_events,
        sum(clicked) over (
            partition by
                query_id,
                doc_id,
                place
            order by event
            rows between unbounded preceding and current row
        ) as click_events,
        sum(case when search_id is null then shown else 0 end) over (
            partition by
                query_id,
                doc_id,
                place
            order by event
            rows between unbounded preceding and current row
        ) as lone_shown,
        sum(case when search_id is null then clicked else 0 end) over (
            partition by
                query_id,
                doc_id,
                place
            order by event
            rows between unbounded preceding and current row
        ) as lone_clicked,
    from click_event
)

select
    query_id,
    doc_id,
    place,
    cast(count(distinct search_id) + greatest(max(lone_shown), max(lone_clicked)) as bigint) as impressions,
    cast(
        count(distinct case when clicked > 0 then search_id end) + max(lone_clicked) as bigint
    ) as clicks,
    cast(max(shown_events) as bigint) as shown_events,
    cast(max(click_events) as bigint) as click_events,
from running_count
group by
    query_id,
    doc_id,
    place
