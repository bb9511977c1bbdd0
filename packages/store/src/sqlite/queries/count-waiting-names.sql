-- count-waiting-names: how many names are not in their table yet.
-- in: nothing      out: one row
SELECT count(*) AS waiting FROM waiting_names
