-- count-sealed: FILES-3, what is encrypted, by the id of its key. The id is the first 8 bytes of what is sealed, behind
-- the size of the map, its first key and the length of the bytes (see personal.ts).
-- in: nothing      out: a row for each key
SELECT
  lower(hex(substr(bytes, CASE hex(substr(bytes, 9, 1)) WHEN '58' THEN 11 WHEN '59' THEN 12 ELSE 14 END, 8)))
    AS key_id,
  sum(is_payload) AS registrations,
  sum(1 - is_payload) AS results
FROM (
  SELECT 1 AS is_payload, payload AS bytes FROM payloads
  WHERE substr(payload, 1, 8) = x'A5667365616C6564'
  UNION ALL
  SELECT 0, output FROM results
  WHERE substr(output, 2, 7) = x'667365616C6564' AND substr(output, 1, 1) IN (x'A1', x'A2', x'A3', x'A4')
)
GROUP BY key_id
ORDER BY key_id
