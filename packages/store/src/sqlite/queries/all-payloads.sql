-- all-payloads: STORE-9, every payload in order of its job's id.
-- in: nothing      out: a row each
SELECT '0x' || lower(hex(ids.id)) AS job_id, payloads.payload
FROM payloads
JOIN ids ON ids.no = payloads.job
ORDER BY ids.id
