-- list-jobs-by-prefix: STORE-8, as list-jobs for the first digits of an id.
-- in: after_seq, limit, id_prefix, first_id: the least id that begins so; caller, status, provider_id, kind, model, after_height, each null for any
-- out: at most `limit` rows
SELECT * FROM job_rows
-- All ids that begin so have one name.
WHERE seq IN (SELECT job FROM all_names WHERE name = name_of(@first_id))
  AND substr(id, 1, length(@id_prefix)) = @id_prefix
  AND seq > @after_seq
  AND (@caller IS NULL OR caller = (SELECT no FROM callers WHERE callers.id = @caller))
  AND (@status IS NULL OR status = @status)
  AND (@provider_id IS NULL OR provider_id = @provider_id)
  AND (@kind IS NULL OR kind = @kind)
  AND (@model IS NULL OR model = @model)
  -- Decimal texts without leading zeros compare as numbers do: the longer one first.
  AND (@after_height IS NULL
    OR (length(enqueue_height), enqueue_height) > (length(@after_height), @after_height))
ORDER BY seq
LIMIT @limit
