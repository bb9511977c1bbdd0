-- replace-output: STORE-16, what is left of a result.
-- in: output, meta, number of the job      out: one change
UPDATE results SET output = ?, meta = ? WHERE job = ?
