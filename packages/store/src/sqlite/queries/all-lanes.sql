-- all-lanes: STORE-9, every row of lanes in order.
-- in: nothing      out: a row each
SELECT {lanes} FROM lanes
ORDER BY lane, CAST(key AS BLOB)
