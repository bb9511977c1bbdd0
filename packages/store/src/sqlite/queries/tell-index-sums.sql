-- tell-index-sums: STORE-13, a sum over the keys of each index, from its pages and from those of its table.
-- in: nothing      out: a row for each index, told
-- One bit makes an empty blob of an attempt that is 0. SQLite reads leases from an index that has all that is asked for, NOT INDEXED or not. No index has the round.
SELECT tell(name, by_index, by_table) FROM (
  SELECT 'jobs_by_id' AS name,
    (SELECT sum((id48 % 65521) * (seq % 65519)) FROM jobs INDEXED BY jobs_by_id) AS by_index,
    (SELECT sum((id48 % 65521) * (seq % 65519)) FROM jobs NOT INDEXED) AS by_table
  UNION ALL SELECT 'jobs_by_key',
    (SELECT sum((key_hash % 65521) * (seq % 65519)) FROM jobs INDEXED BY jobs_by_key WHERE key_hash IS NOT NULL),
    (SELECT sum((key_hash % 65521) * (seq % 65519)) FROM jobs NOT INDEXED)
  UNION ALL SELECT 'jobs_by_caller',
    (SELECT sum((caller48 % 65521) * (seq % 65519)) FROM jobs INDEXED BY jobs_by_caller),
    (SELECT sum((caller48 % 65521) * (seq % 65519)) FROM jobs NOT INDEXED)
  UNION ALL SELECT 'jobs_by_end',
    (SELECT sum((coalesce(ended_at, 1) % 65521) * (seq % 65519)) FROM jobs INDEXED BY jobs_by_end),
    (SELECT sum((coalesce(ended_at, 1) % 65521) * (seq % 65519)) FROM jobs NOT INDEXED)
  UNION ALL SELECT 'leases_by_id',
    (SELECT sum((id48 % 65521) * (job % 65519 + attempt - (typeof(attempt) <> 'integer'))) FROM leases INDEXED BY leases_by_id),
    (SELECT sum((id48 % 65521) * (job % 65519 + attempt) + 0 * round) FROM leases)
  UNION ALL SELECT 'leases_by_start',
    (SELECT sum((t_start % 65521) * (job % 65519 + attempt - (typeof(attempt) <> 'integer'))) FROM leases INDEXED BY leases_by_start),
    (SELECT sum((t_start % 65521) * (job % 65519 + attempt) + 0 * round) FROM leases)
  UNION ALL SELECT 'journal_by_job',
    (SELECT sum((job % 65521) * (seq % 65519)) FROM journal INDEXED BY journal_by_job WHERE job IS NOT NULL),
    (SELECT sum((job % 65521) * (seq % 65519)) FROM journal NOT INDEXED)
  UNION ALL SELECT 'kept_results_by_at',
    (SELECT sum((at % 65521) * (job % 65519)) FROM kept_results INDEXED BY kept_results_by_at),
    (SELECT sum((results.at % 65521) * (results.job % 65519)) FROM results WHERE job NOT IN (SELECT seq FROM jobs))
  -- Each job has one live lease at most.
  UNION ALL SELECT 'live_leases',
    (SELECT count(*) FROM leases INDEXED BY live_leases WHERE status IN ('ACTIVE', 'RENEWED')),
    (SELECT count(*) FROM leases WHERE status || '' IN ('ACTIVE', 'RENEWED'))
)
