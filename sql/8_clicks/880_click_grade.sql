-- click_grade: one document's grade, if it has enough impressions and its query is to be graded (is_asked).
-- grain:  one row per (query_id, doc_id)
-- reads:  click_value, pulled_click_cut
-- params: floor, scale
-- grade: by `scale`: value: the value itself. threshold: the number of cuts that the value reaches. quantile: the
-- number of cuts that are at most the share of graded documents with lower values; equal values have equal grades, and
-- the lowest has grade 0 if all cuts are above 0. Values are compared after rounding to 6 decimals. impressions,
-- clicks, value, low, high: as in click_value; low and high may be null.
with judged_value as (
    select
        query_id,
        doc_id,
        impressions,
        clicks,
        value,
        low,
        high,
        floor(value * 1e6 + 0.5) / 1e6 as level,
        percent_rank() over (order by floor(value * 1e6 + 0.5)) as lower_share,
    from click_value
    where
        impressions >= $floor
        and is_asked
)

select
    judged_value.query_id,
    judged_value.doc_id,
    case
        when $scale = 'value' then judged_value.value
        else cast(count(pulled_click_cut.cut) as double)
    end as grade,
    judged_value.impressions,
    judged_value.clicks,
    judged_value.value,
    judged_value.low,
    judged_value.high,
from judged_value
left join pulled_click_cut
    on
        pulled_click_cut.cut
        <= case when $scale = 'threshold' then judged_value.level else judged_value.lower_share end
group by
    judged_value.query_id,
    judged_value.doc_id,
    judged_value.impressions,
    judged_value.clicks,
    judged_value.value,
    judged_value.low,
    judged_value.high
