-- system: one compared system, with its position in the configured order.
-- grain:  one row per system_id
-- reads:  pulled_system
-- params: baseline
-- position: 0, 1, 2 … role: baseline or candidate.
select
    system_id,
    position,
    case when system_id = $baseline then 'baseline' else 'candidate' end as role,
from pulled_system
