-- renew-store-id: a copy becomes a store of its own, which no log of another fits.
-- in: nothing      out: one change
UPDATE store SET id = randomblob(16)
