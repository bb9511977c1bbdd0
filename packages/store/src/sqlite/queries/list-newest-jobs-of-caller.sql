-- list-newest-jobs-of-caller: STORE-8, as list-newest-jobs for one caller: goes past the jobs of others.
-- in: after_seq, before_seq, limit, caller, caller48: its first 48 bits; status, provider_id, kind, model, after_height, each null for any
-- out: at most `limit` rows
SELECT {jobs} FROM jobs
WHERE caller48 = @caller48 AND caller = @caller AND seq > @after_seq AND seq < @before_seq
  AND (@status IS NULL OR status = @status)
  AND (@provider_id IS NULL OR provider_id = @provider_id)
  AND (@kind IS NULL OR kind = @kind)
  AND (@model IS NULL OR model = @model)
  -- Decimal texts without leading zeros compare as numbers do: the longer one first.
  AND (@after_height IS NULL
    OR (length(enqueue_height), enqueue_height) > (length(@after_height), @after_height))
ORDER BY seq DESC
LIMIT @limit
