-- count-sealed: FILES-3, what is encrypted, by the id of its key. The id is the first 8 bytes of what is sealed, behind
-- the size of the map, its first key and the length of the bytes (see personal.ts).
-- in: nothing      out: a row for each key
SELECT key_id, sum(is_payload), sum(1 - is_payload) FROM (
  SELECT
    is_payload,
    encode(substr(bytes, CASE get_byte(bytes, 8) WHEN 88 THEN 11 WHEN 89 THEN 12 ELSE 14 END, 8), 'hex') AS key_id
  FROM (
    SELECT 1 AS is_payload, payload AS bytes FROM payloads
    WHERE substr(payload, 1, 8) = '\xA5667365616C6564'
    UNION ALL
    SELECT 0, output FROM results
    WHERE substr(output, 2, 7) = '\x667365616C6564' AND get_byte(output, 0) BETWEEN 161 AND 164
      AND octet_length(output) > 8
  ) AS sealed
) AS keyed
GROUP BY key_id
ORDER BY key_id
