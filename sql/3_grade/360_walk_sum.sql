-- walk_sum: the sum over one ranking for a metric whose rank factors depend on the documents above.
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  gain, judged_doc, judgment, metric, rank_gain
-- params: -
-- total: the sum of gain * factor over ranks with a gain. A ranking without a gain has no row. The factor is, by the
-- measure: ap: the precision at the rank. err: the probability that no document above satisfied the user, divided by
-- rank * 2^max_grade; a document satisfies with probability gain / 2^max_grade (Chapelle et al. 2009). rprec: 1 for the
-- first R ranks, R the number of relevant documents. bpref: the share of the first R judged non-relevant documents that
-- are not above (Buckley and Voorhees 2004). infap: the precision expected at the rank from the judged part of a pool;
-- a grade below 0 marks the other part (Yilmaz and Aslam 2006, with trec_eval's epsilon).
-- Inside: terms are >= 0, so the sum is the maximum of the running sum.
with walk as (
    select
        metric_id,
        measure,
        rank_rule,
        gain_rule,
        cutoff,
        max_grade,
    from metric
    where measure in ('ap', 'err', 'rprec', 'bpref', 'infap')
),

pool as (
    select
        judgment.query_id,
        gain.gain_rule,
        count(case when gain.gain > 0 then 1 end) as relevant,
        count(case when gain.gain = 0 and judgment.grade >= 0 then 1 end) as nonrelevant,
    from judgment
    inner join gain on judgment.grade = gain.grade
    where gain.gain_rule in (select walk.gain_rule, from walk)
    group by
        judgment.query_id,
        gain.gain_rule
),

highest as (
    select max(grade) as grade,
    from judgment
),

best as (
    select
        walk.metric_id,
        gain.gain,
    from walk
    cross join highest
    inner join gain
        on
            walk.gain_rule = gain.gain_rule
            and gain.grade = coalesce(walk.max_grade, highest.grade)
    where walk.measure = 'err'
),

judged_rank as (
    select
        walk.metric_id,
        walk.measure,
        judged_doc.system_id,
        judged_doc.query_id,
        judged_doc.rank,
        gain.gain,
        best.gain + 1.0 as certain,
        pool.relevant,
        pool.nonrelevant,
        case when gain.gain > 0 then 1 else 0 end as is_relevant,
        case when gain.gain = 0 and judged_doc.grade >= 0 then 1 else 0 end as is_nonrelevant,
        ln(greatest(1.0 - gain.gain / (best.gain + 1.0), 1e-300)) as unsatisfied,
    from judged_doc
    inner join walk
        on
            judged_doc.rank_rule = walk.rank_rule
            and judged_doc.rank <= coalesce(walk.cutoff, judged_doc.rank)
    inner join gain
        on
            walk.gain_rule = gain.gain_rule
            and judged_doc.grade = gain.grade
    inner join pool
        on
            walk.gain_rule = pool.gain_rule
            and judged_doc.query_id = pool.query_id
    left join best on walk.metric_id = best.metric_id
    where walk.measure <> 'rprec'
),

counted_rank as (
    select
        metric_id,
        measure,
        system_id,
        query_id,
        rank,
        gain,
        certain,
        relevant,
        nonrelevant,
        sum(is_relevant) over (
            partition by metric_id, system_id, query_id
            order by rank
            rows between unbounded preceding and current row
        ) as relevant_seen,
        sum(is_nonrelevant) over (
            partition by metric_id, system_id, query_id
            order by rank
            rows between unbounded preceding and current row
        ) as nonrelevant_seen,
        count(*) over (
            partition by metric_id, system_id, query_id
            order by rank
            rows between unbounded preceding and current row
        ) as pooled_seen,
        sum(unsatisfied) over (
            partition by metric_id, system_id, query_id
            order by rank
            rows between unbounded preceding and current row
        ) - unsatisfied as unsatisfied_above,
    from judged_rank
),

term as (
    select
        metric_id,
        system_id,
        query_id,
        rank,
        gain * case
            when measure = 'ap' then cast(relevant_seen as double) / rank
            when measure = 'err' then exp(unsatisfied_above) / rank / certain
            when measure = 'bpref' and nonrelevant_seen = 0 then 1.0
            when measure = 'bpref'
                then 1.0 - cast(least(nonrelevant_seen, relevant) as double) / least(nonrelevant, relevant)
            when measure = 'infap'
                then
                    (
                        1.0
                        + (pooled_seen - 1)
                        * (relevant_seen - 1 + 0.00001)
                        / (relevant_seen - 1 + nonrelevant_seen + 0.00002)
                    )
                    / rank
        end as added,
    from counted_rank
    where gain > 0
    union all
    select
        walk.metric_id,
        rank_gain.system_id,
        rank_gain.query_id,
        rank_gain.rank,
        rank_gain.gain as added,
    from walk
    inner join rank_gain
        on
            walk.rank_rule = rank_gain.rank_rule
            and walk.gain_rule = rank_gain.gain_rule
    inner join pool
        on
            walk.gain_rule = pool.gain_rule
            and rank_gain.query_id = pool.query_id
            and rank_gain.rank <= pool.relevant
    where walk.measure = 'rprec'
),

running_sum as (
    select
        metric_id,
        system_id,
        query_id,
        sum(added) over (
            partition by metric_id, system_id, query_id
            order by rank
            rows between unbounded preceding and current row
        ) as total,
    from term
)

select
    system_id,
    query_id,
    metric_id,
    max(total) as total,
from running_sum
group by
    system_id,
    query_id,
    metric_id
