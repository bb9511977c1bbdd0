-- count-live-jobs: the number of live jobs.
-- in: nothing      out: one row
SELECT count(*) FROM jobs WHERE ended_at IS NULL
