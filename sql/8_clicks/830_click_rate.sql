-- click_rate: the mean click rate at one rank, over all queries and documents.
-- grain:  one row per (place)
-- reads:  click_count
-- params: -
-- place: the rank. impressions, clicks: their sums at this rank. rate: clicks / impressions, 0 to 1. event_rate: logged
-- clicks / logged impressions, which OpenSearch uses. Both rates are 0 without impressions.
with rank_total as (
    select
        place,
        cast(sum(impressions) as double) as impressions,
        cast(sum(clicks) as double) as clicks,
        cast(sum(shown_events) as double) as shown_events,
        cast(sum(click_events) as double) as click_events,
    from click_count
    group by place
)

select
    place,
    cast(impressions as bigint) as impressions,
    cast(clicks as bigint) as clicks,
    case when impressions > 0 then clicks / impressions else 0.0 end as rate,
    case when shown_events > 0 then click_events / shown_events else 0.0 end as event_rate,
from rank_total
