-- click_weight: the click rate that would be usual where a document was shown, by the model.
-- grain:  one row per (query_id, doc_id, place)
-- reads:  click_count, click_rate, pulled_examination
-- params: model
-- rate: 1 everywhere. coec: the mean click rate at the place. position: how likely the place is looked at. opensearch:
-- the mean click rate at the highest place that the document ever had for the query, whatever the place of an
-- impression (opensearch-project/search-relevance, CoecClickModel.java and ClickthroughRate.java).
with placed_count as (
    select
        query_id,
        doc_id,
        place,
        case when $model = 'opensearch' then shown_events else impressions end as impressions,
        case when $model = 'opensearch' then click_events else clicks end as clicks,
        case
            when $model = 'opensearch'
                then min(place) over (
                    partition by
                        query_id,
                        doc_id
                )
            else place
        end as rated_place,
    from click_count
    where impressions > 0
)

select
    placed_count.query_id,
    placed_count.doc_id,
    placed_count.place,
    placed_count.impressions,
    placed_count.clicks,
    case
        when $model = 'rate' then 1.0
        when $model = 'coec' then click_rate.rate
        when $model = 'opensearch' then click_rate.event_rate
        else pulled_examination.examination
    end as weight,
from placed_count
inner join click_rate on placed_count.rated_place = click_rate.place
left join pulled_examination on placed_count.rated_place = pulled_examination.place
