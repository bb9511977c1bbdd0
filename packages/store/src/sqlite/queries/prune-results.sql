-- prune-results: STORE-10, the results that are due go with the jobs that are about to be deleted.
-- in: time before which the job ended, time before which a result is due or null for none      out: a change each
DELETE FROM results
WHERE job IN (SELECT seq FROM jobs WHERE ended_at < ?1) AND at < ?2
