-- find-last-names: the newest piece of names.
-- in: nothing      out: its number; null if there is none
SELECT max(no) AS no FROM new_names
