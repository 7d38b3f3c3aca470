-- click_guess: the expected counts of one document at one rank, for one step of expectation maximisation.
-- grain:  one row per (document, place)
-- reads:  click_count, pulled_attraction, pulled_examination
-- params: -
-- kind:   view
-- attracted: expected number of impressions in which the document attracted the user. looked: expected number of
-- impressions in which the user examined the rank (place).
-- Inside: both are computed with the probabilities of attraction a and examination e from the previous step. In an
-- impression without a click, the document attracted and the rank was not examined with probability a (1 - e) / (1 - a
-- e); the rank was examined and the document did not attract with e (1 - a) / (1 - a e) (Chuklin, Markov and de Rijke
-- 2015, Click Models for Web Search, 4.2).
with chance as (
    select
        click_count.document,
        click_count.place,
        click_count.impressions,
        click_count.clicks,
        pulled_attraction.attraction,
        pulled_examination.examination,
        1 - pulled_attraction.attraction * pulled_examination.examination as unclicked,
    from click_count
    inner join pulled_attraction on click_count.document = pulled_attraction.document
    inner join pulled_examination on click_count.place = pulled_examination.place
    where click_count.impressions > 0
)

select
    document,
    place,
    impressions,
    case
        when unclicked > 0 then clicks + (impressions - clicks) * attraction * (1 - examination) / unclicked
        else clicks
    end as attracted,
    case
        when unclicked > 0 then clicks + (impressions - clicks) * examination * (1 - attraction) / unclicked
        else clicks
    end as looked,
from chance
