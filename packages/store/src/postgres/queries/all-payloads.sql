-- all-payloads: STORE-9, every payload in order of its job's id.
-- in: nothing      out: a row each
SELECT jobs.id, payloads.payload FROM payloads
JOIN jobs ON jobs.seq = payloads.job
ORDER BY jobs.id
