-- list-timeline: STORE-8, the entries about a job, each with the hash of the one before it.
-- in: the first 48 bits of the job's id, its id      out: a row each
SELECT
  journal.seq, journal.at, journal.actor, journal.action, journal.subject, journal.details, journal.hash,
  coalesce(
    (SELECT before.hash FROM journal AS before WHERE before.seq = journal.seq - 1),
    (SELECT journal_before FROM store)
  )
FROM jobs
JOIN journal ON journal.job = jobs.seq
WHERE jobs.id48 = ? AND jobs.id = ?
ORDER BY journal.seq
