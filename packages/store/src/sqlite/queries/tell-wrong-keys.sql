-- tell-wrong-keys: STORE-13, rows that lie under the number of another job, and rounds and lines of epochs that their index does not lead to. A
-- look-up would not find them.
-- in: nothing      out: the name of the table and a number for each, told
SELECT tell(name, number) FROM (
  SELECT 'payloads' AS name, jobs.seq AS number FROM jobs
  WHERE NOT EXISTS (SELECT 1 FROM payloads WHERE payloads.job = jobs.seq)
  UNION ALL
  SELECT 'leases', leases.job FROM leases
  LEFT JOIN jobs ON jobs.seq = leases.job
  WHERE jobs.id IS NOT leases.job_id
  UNION ALL
  SELECT 'failures', failures.job FROM failures
  LEFT JOIN jobs ON jobs.seq = failures.job
  WHERE jobs.id IS NOT failures.job_id
  UNION ALL
  SELECT 'results', results.job FROM results
  JOIN jobs ON jobs.seq = results.job
  WHERE jobs.id <> results.job_id
  UNION ALL
  SELECT 'rounds', rounds.height FROM rounds NOT INDEXED
  WHERE NOT EXISTS (
    SELECT 1 FROM rounds AS found
    WHERE found.height = rounds.height AND found.kind = rounds.kind AND found.rowid = rounds.rowid
  )
  UNION ALL
  SELECT 'settlement_parts', part.epoch_id FROM settlement_parts AS part NOT INDEXED
  WHERE NOT EXISTS (
    SELECT 1 FROM settlement_parts AS found
    WHERE found.epoch_id = part.epoch_id AND found.provider_id = part.provider_id AND found.part = part.part
      AND found.rowid = part.rowid
  )
  UNION ALL
  -- Results of deleted jobs, and the ways to them: SQLite reads these from their index, and then by their key.
  SELECT 'kept_results', kept_results.job FROM kept_results
  LEFT JOIN results ON results.job = kept_results.job
  WHERE results.job IS NULL OR results.at <> kept_results.at
    OR hex(substr(results.job_id, 1, 6)) <> printf('%012X', kept_results.id48)
    OR NOT EXISTS (
      SELECT 1 FROM kept_results AS found
      WHERE found.id48 = kept_results.id48 AND found.job = kept_results.job AND found.at = kept_results.at
    )
  UNION ALL
  SELECT 'results', results.job FROM results
  WHERE results.job NOT IN (SELECT seq FROM jobs) AND results.job NOT IN (SELECT job FROM kept_results)
)
