-- system: one compared system, in configured order; the first pulled is the first shown.
-- grain:  one row per system_id
-- reads:  pulled_system
-- params: baseline
-- role: baseline or candidate.
select
    system_id,
    position,
    case when system_id = $baseline then 'baseline' else 'candidate' end as role,
from pulled_system
