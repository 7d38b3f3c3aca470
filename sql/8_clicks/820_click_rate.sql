-- click_rate: the mean click rate at each place, over all queries and documents.
-- grain:  one row per (place)
-- reads:  click_count
-- params: -
-- rate: of impressions, 0 to 1. event_rate: clicks that were logged over impressions that were logged, which OpenSearch
-- takes; 0 where none was.
with running_place as (
    select
        place,
        sum(impressions) over (
            partition by place
            order by
                query_id,
                doc_id
            rows between unbounded preceding and current row
        ) as impressions,
        sum(clicks) over (
            partition by place
            order by
                query_id,
                doc_id
            rows between unbounded preceding and current row
        ) as clicks,
        sum(shown_events) over (
            partition by place
            order by
                query_id,
                doc_id
            rows between unbounded preceding and current row
        ) as shown_events,
        sum(click_events) over (
            partition by place
            order by
                query_id,
                doc_id
            rows between unbounded preceding and current row
        ) as click_events,
    from click_count
),

place_total as (
    select
        place,
        cast(max(impressions) as double) as impressions,
        cast(max(clicks) as double) as clicks,
        cast(max(shown_events) as double) as shown_events,
        cast(max(click_events) as double) as click_events,
    from running_place
    group by place
)

select
    place,
    cast(impressions as bigint) as impressions,
    cast(clicks as bigint) as clicks,
    case when impressions > 0 then clicks / impressions else 0.0 end as rate,
    case when shown_events > 0 then click_events / shown_events else 0.0 end as event_rate,
from place_total
