-- note-entries: STORE-8, entries about a job that did not change with them.
-- in: number of the job, numbers of the entries      out: one change, or none if there is no such job
UPDATE jobs SET entries = entries || ?2
WHERE seq = ?1
