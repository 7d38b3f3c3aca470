-- click_guess: what one step of expectation maximisation starts from, for each document at each place it was shown at.
-- grain:  one row per (document, place)
-- reads:  click_count, pulled_attraction, pulled_examination
-- params: -
-- kind:   view
-- unclicked: how likely an impression there is not clicked, if the chances of the step before are right.
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
