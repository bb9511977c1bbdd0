-- all-providers: STORE-9, every provider in order of its id.
-- in: nothing      out: a row each
SELECT * FROM providers
ORDER BY id
