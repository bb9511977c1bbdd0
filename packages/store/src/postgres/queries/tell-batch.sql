-- tell-batch: STORE-14, the batch that the tables reflect, and the newest entry.
-- in: nothing      out: one row
SELECT batch, journal_last FROM store
