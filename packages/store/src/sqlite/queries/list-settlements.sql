-- list-settlements: settled epochs before one, the newest first, without their lines.
-- in: epoch, limit      out: the columns of SETTLEMENT_HEAD
SELECT epoch_id, batch_id, at, batch, policy FROM settlements
WHERE epoch_id < ?
ORDER BY epoch_id DESC
LIMIT ?
