-- list-timeline: STORE-8, the entries about a job, each with the hash of the one before it.
-- in: the job's id      out: a row each
SELECT
  journal.seq, journal.at, journal.actor, journal.action, journal.subject, journal.details, journal.details_cbor, journal.hash,
  coalesce(
    (SELECT before.hash FROM journal AS before WHERE before.seq = journal.seq - 1),
    (SELECT journal_before FROM store)
  )
FROM jobs
JOIN journal ON journal.job = jobs.seq
WHERE jobs.id = @id
ORDER BY journal.seq
