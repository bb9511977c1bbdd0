-- all-providers: STORE-9, every row of providers in order.
-- in: nothing      out: a row each
SELECT {providers} FROM providers
ORDER BY id
