-- list-jobs: STORE-8, a page of jobs in order of acceptance, or the newest first. made-queries.ts makes a statement for each range
-- that an index has, and for each order.
-- in: after_seq, before_seq for the newest, limit; what the range needs; status, provider_id, kind, model, after_height, tag, dedupe_key (JSON), schedule, tx_hash, error, since, until, each null for any
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
  AND (@tag IS NULL OR EXISTS (SELECT 1 FROM json_each(options, '$.tags') WHERE value = @tag))
  AND (@dedupe_key IS NULL OR options -> '$.dedupeKey' = @dedupe_key)
  AND (@schedule IS NULL OR origin ->> '$.schedule' = @schedule)
  AND (@tx_hash IS NULL OR tx_hash = @tx_hash)
  -- The code of the last failed attempt.
  AND (@error IS NULL
    OR (SELECT code FROM failures WHERE job = jobs.seq ORDER BY attempt DESC LIMIT 1) = @error)
  AND (@since IS NULL OR enqueue_ts >= @since)
  AND (@until IS NULL OR enqueue_ts < @until)
ORDER BY {order}
LIMIT @limit
