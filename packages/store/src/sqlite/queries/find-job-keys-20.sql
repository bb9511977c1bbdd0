-- find-job-keys-20: STORE-5, whether there are jobs of these callers under these tx_hashes.
-- in: id of the caller and tx_hash, twenty times      out: a row for each job that is there
WITH given (caller, tx_hash) AS (
  VALUES (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?),
         (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?), (?, ?)
)
SELECT jobs.seq FROM given
CROSS JOIN callers ON callers.id = given.caller
CROSS JOIN jobs ON jobs.caller = callers.no AND jobs.tx_hash = given.tx_hash
