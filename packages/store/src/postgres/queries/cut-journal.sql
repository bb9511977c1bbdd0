-- cut-journal: STORE-15, entries up to a number. The hash of the last of them stays.
-- in: the number      out: one change
WITH cut AS (DELETE FROM journal WHERE seq <= @seq RETURNING seq, hash)
UPDATE store SET journal_first = @seq::bigint + 1, journal_before = cut.hash FROM cut WHERE cut.seq = @seq
