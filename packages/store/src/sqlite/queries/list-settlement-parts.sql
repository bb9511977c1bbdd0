-- list-settlement-parts: the lines of a settled epoch.
-- in: epoch      out: the columns of SETTLEMENT_PART without the epoch
SELECT provider_id, part, body FROM settlement_parts
WHERE epoch_id = ?
ORDER BY provider_id, part
