-- list-settlements: settled epochs before one, the newest first, without their lines.
-- in: epoch, limit      out: a row each
SELECT {settlements} FROM settlements
WHERE epoch_id < @before
ORDER BY epoch_id DESC
LIMIT @limit
