-- replace-payload: STORE-16, what is left of a payload.
-- in: payload, number of the job      out: one change
UPDATE payloads SET payload = ? WHERE job = ?
