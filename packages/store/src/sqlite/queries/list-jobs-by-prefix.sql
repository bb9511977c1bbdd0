-- list-jobs-by-prefix: STORE-8, as list-jobs for the first digits of an id.
-- in: after_seq, limit, first_id and last_id: the least and greatest id that begin so, first48 and last48: the starts of these; caller, status, provider_id, kind, model, after_height, each null for any
-- out: at most `limit` rows
SELECT {jobs} FROM jobs
WHERE id48 BETWEEN @first48 AND @last48 AND id BETWEEN @first_id AND @last_id
  AND seq > @after_seq
  AND (@caller IS NULL OR caller = @caller)
  AND (@status IS NULL OR status = @status)
  AND (@provider_id IS NULL OR provider_id = @provider_id)
  AND (@kind IS NULL OR kind = @kind)
  AND (@model IS NULL OR model = @model)
  -- Decimal texts without leading zeros compare as numbers do: the longer one first.
  AND (@after_height IS NULL
    OR (length(enqueue_height), enqueue_height) > (length(@after_height), @after_height))
ORDER BY seq
LIMIT @limit
