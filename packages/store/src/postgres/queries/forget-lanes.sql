-- forget-lanes: STORE-7, pieces of lanes without a value.
-- in: lists of lanes and keys      out: a change each
DELETE FROM lanes USING unnest(@lane::text[], @key::text[]) AS n (lane, key)
WHERE lanes.lane = n.lane AND lanes.key = n.key
