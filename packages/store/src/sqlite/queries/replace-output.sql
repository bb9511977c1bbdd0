-- replace-output: STORE-16, what is left of a result.
-- in: output, meta, the CRC-32 of both, number of the job      out: one change
UPDATE results SET output = ?, meta = ?, crc = ? WHERE job = ?
