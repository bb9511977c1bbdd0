#!/bin/sh
# Enqueues a task with nothing but curl, and prints the receipt.
#   FAIRLEAD_URL=http://127.0.0.1:7433 examples/enqueue.sh hello
curl -sS "${FAIRLEAD_URL:-http://127.0.0.1:7433}/rpc" \
  -H 'content-type: application/json' \
  -d '{
    "jsonrpc": "2.0", "id": 1, "method": "aicf.enqueue",
    "params": {
      "kind": "task",
      "payload": { "name": "shout", "args": { "text": "'"${1:-hello}"'" } },
      "idempotency_key": "'"shout-${1:-hello}"'"
    }
  }'
