-- shares: all of them.
-- in: nothing      out: the columns of SHARE
SELECT shares.kind, callers.id, shares.finish FROM shares
JOIN callers ON callers.no = shares.caller
