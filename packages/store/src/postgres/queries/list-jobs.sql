-- list-jobs: STORE-8, a page of jobs in order of acceptance, or the newest first. made-queries.ts makes a statement for each range
-- that an index has, and for each order.
-- in: after_seq, before_seq for the newest, limit; what the range needs; the other filters, each null for any
-- out: at most `limit` rows
SELECT {jobs} FROM jobs
WHERE {range} AND {between}
  AND (@status::text IS NULL OR status = @status)
  AND (@provider_id::text IS NULL OR provider_id = @provider_id)
  AND (@kind::text IS NULL OR kind = @kind)
  AND (@model::text IS NULL OR model = @model)
  AND (@after_height::numeric IS NULL OR enqueue_height > @after_height)
  AND (@tag::text IS NULL OR @tag = ANY (tags))
  AND (@dedupe_key::text IS NULL OR dedupe_key = @dedupe_key)
  AND (@schedule::text IS NULL OR schedule = @schedule)
  AND (@tx_hash::bytea IS NULL OR tx_hash = @tx_hash)
  -- The code of the last failed attempt.
  AND (@error::text IS NULL
    OR (SELECT code FROM failures WHERE job = jobs.seq ORDER BY attempt DESC LIMIT 1) = @error)
  AND (@since::bigint IS NULL OR enqueue_ts >= @since)
  AND (@until::bigint IS NULL OR enqueue_ts < @until)
ORDER BY {order}
LIMIT @limit
