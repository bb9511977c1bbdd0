-- find-payloads: the canonical payloads of jobs.
-- in: list of numbers of jobs      out: a row for each that is there
SELECT {payloads} FROM payloads WHERE job = ANY (@jobs::bigint[])
