-- tell-store: the row about the store, as find-store gives it.
-- in: nothing      out: one row, told
SELECT tell({store}) FROM store
