-- list-jobs: STORE-8, a page of jobs in order of acceptance.
-- in: after_seq, limit; status, provider_id, kind, model, after_height, each null for any
-- out: at most `limit` rows
SELECT {jobs} FROM jobs
WHERE seq > @after_seq
  AND (@status IS NULL OR status = @status)
  AND (@provider_id IS NULL OR provider_id = @provider_id)
  AND (@kind IS NULL OR kind = @kind)
  AND (@model IS NULL OR model = @model)
  -- Decimal texts without leading zeros compare as numbers do: the longer one first.
  AND (@after_height IS NULL
    OR (length(enqueue_height), enqueue_height) > (length(@after_height), @after_height))
ORDER BY seq
LIMIT @limit
