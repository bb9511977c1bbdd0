-- find-ended-registrations: STORE-16, whose personal data is to be erased.
-- in: the first time at which they ended, the first after it      out: their numbers
SELECT seq FROM jobs
WHERE ended_at >= ? AND ended_at < ? AND kind = 'registration'
