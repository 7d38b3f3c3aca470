-- click_guess: the summands of one step of expectation maximisation, for one document at one rank.
-- grain:  one row per (document, place)
-- reads:  click_count, pulled_attraction, pulled_examination
-- params: -
-- kind:   view
-- attracted, looked: expected number of impressions in which the document attracted the user, and in which the user
-- examined the rank (place), given their probabilities a and e from the previous step. In an impression without a
-- click, the document attracted and the rank was not examined with probability a (1 - e) / (1 - a e); the rank was
-- examined and the document did not attract with e (1 - a) / (1 - a e) (Chuklin, Markov and de Rijke 2015, Click Models
-- for Web Search, 4.2).
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
