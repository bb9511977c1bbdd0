-- What each connection makes for itself, in memory.

-- The names that are in new_names and not in their table yet, in their order.
CREATE TEMP TABLE waiting_names (
  name INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  PRIMARY KEY (name, job)
) STRICT, WITHOUT ROWID;

-- All that a job is found by. One that is carried again after a restart may come twice.
CREATE TEMP VIEW all_names AS
SELECT name, job FROM main.names
UNION ALL
SELECT name, job FROM temp.waiting_names;

-- The names that a job has, from its own rows.
CREATE TEMP VIEW job_names AS
SELECT name_of(id) AS name, seq AS job, ended_at FROM main.jobs
UNION ALL
SELECT name_of_key(callers.id, jobs.tx_hash), jobs.seq, jobs.ended_at FROM main.jobs
JOIN main.callers ON callers.no = jobs.caller
UNION ALL
SELECT name_of(leases.id), leases.job, jobs.ended_at FROM main.jobs
JOIN main.leases ON leases.job = jobs.seq;
