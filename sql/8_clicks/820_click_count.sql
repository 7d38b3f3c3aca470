-- click_count: the numbers of impressions and clicks of one document at one rank.
-- grain:  one row per (document, place)
-- reads:  click_document, click_event
-- params: -
-- place: the rank. impressions, clicks: at most one for each search, even if logged twice; a click implies an
-- impression. Events without a search_id are all counted. shown_events, click_events: numbers of all logged events, as
-- OpenSearch counts them.
with search_count as (
    select
        click_document.document,
        click_event.place,
        click_event.search_id,
        cast(sum(click_event.shown) as bigint) as shown,
        cast(sum(click_event.clicked) as bigint) as clicked,
    from click_event
    inner join click_document
        on
            click_event.query_id = click_document.query_id
            and click_event.doc_id = click_document.doc_id
    group by
        click_document.document,
        click_event.place,
        click_event.search_id
)

select
    document,
    place,
    cast(
        count(search_id) + greatest(
            sum(case when search_id is null then shown else 0 end),
            sum(case when search_id is null then clicked else 0 end)
        ) as bigint
    ) as impressions,
    cast(
        count(case when clicked > 0 then search_id end)
        + sum(case when search_id is null then clicked else 0 end) as bigint
    ) as clicks,
    cast(sum(shown) as bigint) as shown_events,
    cast(sum(clicked) as bigint) as click_events,
from search_count
group by
    document,
    place
