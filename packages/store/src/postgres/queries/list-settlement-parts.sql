-- list-settlement-parts: the lines of a settled epoch.
-- in: epoch      out: a row each
SELECT {settlement_parts} FROM settlement_parts
WHERE epoch_id = @epoch
ORDER BY provider_id, part
