-- replace-payload: STORE-16, what is left of a payload.
-- in: payload, its CRC-32, number of the job      out: one change
UPDATE payloads SET payload = ?, crc = ? WHERE job = ?
