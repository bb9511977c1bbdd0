-- clear-lanes: every piece of some lanes.
-- in: list of lanes      out: a change each
DELETE FROM lanes WHERE lane = ANY (@lanes::text[])
