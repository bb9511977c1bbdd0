-- find-due: what the newest settled epoch leaves due.
-- in: nothing      out: one row, or none
SELECT due FROM settlements ORDER BY epoch_id DESC LIMIT 1
