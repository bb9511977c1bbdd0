#!/bin/sh
# Keeps to a limit with nothing but curl: define it, reserve, work, complete with what was used. Any language can.
#   FAIRLEAD_URL=http://127.0.0.1:7433 examples/limits.sh
call() {
  curl -sS -X "$1" "${FAIRLEAD_URL:-http://127.0.0.1:7433}$2" \
    -H 'content-type: application/json' \
    -H "authorization: Bearer ${FAIRLEAD_TOKEN:-none}" \
    ${3:+-d "$3"}
  echo
}
key=global:llm:openai:gpt-5.2:tpm
# New for each attempt. After a lost answer the same one again, so that nothing is held twice.
lease="example-$(date +%s)-$$"

call PUT /v1/admin/limits '{
  "key": "'$key'", "kind": "rolling", "capacity": 200000, "window_seconds": 60, "unit": "tokens"
}'
call POST /v1/reserve '{
  "lease_id": "'$lease'", "requirements": [{ "key": "'$key'", "amount": 1800 }]
}'
# "allowed": true, so here the model would be called. Else: wait for retry_after_ms, and take a new lease_id.
call POST /v1/complete '{
  "lease_id": "'$lease'", "actuals": [{ "key": "'$key'", "actual_amount": 740 }]
}'
call GET /v1/admin/limits/$key
