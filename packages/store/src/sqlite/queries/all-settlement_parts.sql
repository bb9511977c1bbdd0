-- all-settlement_parts: STORE-9, every row of settlement_parts in order.
-- in: nothing      out: a row each
SELECT {settlement_parts} FROM settlement_parts ORDER BY epoch_id, provider_id, part
