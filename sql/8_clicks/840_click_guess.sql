-- click_guess: what one step of expectation maximisation sums, of each document at each place it was shown at.
-- grain:  one row per (document, place)
-- reads:  click_count, pulled_attraction, pulled_examination
-- params: -
-- kind:   view
-- attracted, looked: how many impressions the document attracted in, and the place was looked at in, if the chances of
-- the step before are right. Of an impression without a click it attracted, and was not looked at, with probability
-- a (1 - e) / (1 - a e); it was looked at, and did not attract, with e (1 - a) / (1 - a e) (Chuklin, Markov and de
-- Rijke 2015, Click Models for Web Search, 4.2).
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
