-- list-ended-registrations: STORE-16, the registrations whose personal data is to be erased, with all that they said and brought.
-- in: the first time at which they ended, the first after it      out: payload, result or nulls
SELECT {payloads}, {results} FROM jobs
JOIN payloads ON payloads.job = jobs.seq
LEFT JOIN results ON results.job = jobs.seq
WHERE jobs.ended_at >= @from AND jobs.ended_at < @before AND jobs.kind = 'registration'
