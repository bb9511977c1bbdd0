-- renew-key-hashes: the hashes by which keys are looked up depend on the id of the store.
-- in: nothing      out: a change each
UPDATE jobs SET key_hash = hash_of_key(caller, tx_hash) WHERE key_hash IS NOT NULL
