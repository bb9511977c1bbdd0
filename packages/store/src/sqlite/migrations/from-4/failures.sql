-- failures: the failures of the jobs between two numbers.
-- in: the number before the first, the last      out: the columns of FAILURE
SELECT failures.job, failures.attempt, jobs.id, failures.at, failures.code, failures.message, failures.details
FROM failures
JOIN jobs ON jobs.seq = failures.job
WHERE failures.job > ? AND failures.job <= ?
