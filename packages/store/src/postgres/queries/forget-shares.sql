-- forget-shares: STORE-7, shares without a finish time.
-- in: lists of kinds and callers      out: a change each
DELETE FROM shares USING unnest(@kind::text[], @caller::bytea[]) AS n (kind, caller)
WHERE shares.kind = n.kind AND shares.caller = n.caller
