-- find-result: the result of a job; it outlives the job (TTL-3).
-- in: id of the job      out: one row, or none
SELECT * FROM result_rows
WHERE job = coalesce(
  (
    SELECT jobs.seq FROM all_names
    JOIN jobs ON jobs.seq = all_names.job
    WHERE all_names.name = name_of(?1) AND jobs.id = ?1
  ),
  (SELECT max(job) FROM kept_results WHERE job_id = ?1)
)
