import { FairleadError, type Policy, toHex } from '@fairlead/core'
import { type AcceptedRequest, acceptRequest, sha3 } from '@fairlead/core/internal'
import { type Json, suite } from '../suite.ts'
import { FUND } from '../vector-policy.ts'

/** Payloads longer than this are given by their hash. */
const SHOWN_BYTES_MAX = 2_048

/** §2, §3: request validation, canonical payload and task id. */
export const taskId = suite((input) => {
  const request = expand(input.request)
  try {
    return shown(acceptRequest(request, withCaps(input.caps ?? {})))
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    const { code, details } = error
    if (code === 'InvalidParams') return { error: code, field: details['field'] }
    return {
      error: code,
      field: details['limit'],
      max: details['max'],
      observed: details['observed'],
    }
  }
})

function shown({ jobId, sizeBytes, txHash, payloadCbor }: AcceptedRequest): Json {
  const payload =
    payloadCbor.length > SHOWN_BYTES_MAX
      ? { payload_sha3: toHex(sha3(payloadCbor)) }
      : { payload_cbor: toHex(payloadCbor) }
  return { task_id: jobId, size_bytes: sizeBytes, tx_hash: txHash, ...payload }
}

/** `{"$repeat": S, "times": n}` stands for a long string. */
function expand(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(expand)
  if ('$repeat' in json) {
    const text: string = json.$repeat
    return text.startsWith('0x') ? `0x${text.slice(2).repeat(json.times)}` : text.repeat(json.times)
  }
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, expand(value)]))
}

/** A vector names a cap by its field alone, whatever the kind. */
function withCaps(given: Json): Policy {
  const { ai, quantum, task, registration } = FUND.caps
  return {
    ...FUND,
    caps: {
      regions: FUND.caps.regions,
      needs: FUND.caps.needs,
      idempotencyKey: given.idempotency_key ?? FUND.caps.idempotencyKey,
      ai: {
        model: given.model ?? ai.model,
        prompt: given.prompt ?? ai.prompt,
        maxTokens: given.max_tokens ?? ai.maxTokens,
      },
      quantum: { circuit: given.circuit ?? quantum.circuit, shots: given.shots ?? quantum.shots },
      task: { name: given.name ?? task.name, args: given.args ?? task.args },
      registration: {
        provider: given.provider ?? registration.provider,
        orgRef: given.org_ref ?? registration.orgRef,
        eventId: given.event_id ?? registration.eventId,
        userId: given.user_id ?? registration.userId,
        args: given.args ?? registration.args,
      },
    },
  }
}
