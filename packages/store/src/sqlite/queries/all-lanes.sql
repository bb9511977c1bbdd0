-- all-lanes: STORE-9, every piece of the state of admit in order of its lane and key.
-- in: nothing      out: a row each
SELECT lane, key, value FROM lanes
ORDER BY lane, key
