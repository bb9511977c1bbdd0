-- list-jobs: STORE-8, a page of jobs in order of acceptance, or the newest first. made-queries.ts makes a statement for each range
-- that an index has, and for each order.
-- in: after_seq, before_seq for the newest, limit; what the range needs; status, provider_id, kind, model, after_height, each null for any
-- out: at most `limit` rows
SELECT {jobs} FROM jobs
WHERE {range} AND {between}
  AND (@status IS NULL OR status = @status)
  AND (@provider_id IS NULL OR provider_id = @provider_id)
  AND (@kind IS NULL OR kind = @kind)
  AND (@model IS NULL OR model = @model)
  -- Decimal texts without leading zeros compare as numbers do: the longer one first.
  AND (@after_height IS NULL
    OR (length(enqueue_height), enqueue_height) > (length(@after_height), @after_height))
ORDER BY {order}
LIMIT @limit
