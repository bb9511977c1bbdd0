import { utf8 } from '../encoding/bytes.ts'
import { type CborMap, decodeCbor, encodeCbor } from '../encoding/cbor.ts'
import { isPlainObject } from '../encoding/plain-object.ts'

/** The field of a stored registration that holds everything encrypted (AUDIT-9). */
const SEALED = 'sealed'

// Payloads of all kinds pass through here, so stored forms are recognised by their first bytes. These are the size
// of the map and its first key, which is the shortest (CBOR-3).
const SEALED_START = [0xa5, 0x66, ...utf8(SEALED)]
const ERASED_START = [0xa4, 0x67, ...utf8('org_ref')]
const UNREADABLE_START = [0xa5, 0x67, ...utf8('org_ref')]
/** Replaces content that cannot be opened because its key is missing or the bytes are damaged (FILES-4). */
const UNREADABLE = { unreadable: true }

/**
 * The rest of a registration's payload after its personal data is erased: place and time (AUDIT-10). Anything else
 * becomes an empty map.
 */
export function withoutPeople(payload: Uint8Array): Uint8Array {
  return encodeCbor(whereAndWhen(mapOf(payload)))
}

/** True if the personal data of a registration was erased. */
export function isErased(payload: Uint8Array): boolean {
  return startsWith(payload, ERASED_START)
}

/** A sealed registration that cannot be opened: place, time and the mark `unreadable`. */
export function unreadablePayload(payload: Uint8Array): Uint8Array {
  return encodeCbor({ ...whereAndWhen(mapOf(payload)), ...UNREADABLE })
}

export function isUnreadable(payload: Uint8Array): boolean {
  return startsWith(payload, UNREADABLE_START)
}

/** The stored form of a registration: the whole payload encrypted, with place and time beside it. */
export function sealedPayload(payload: Uint8Array, sealed: Uint8Array): Uint8Array {
  return encodeCbor({ ...whereAndWhen(mapOf(payload)), [SEALED]: sealed })
}

/** The sealed part of a `sealedPayload`; null for any other payload. */
export function sealedIn(payload: Uint8Array): Uint8Array | null {
  if (!startsWith(payload, SEALED_START)) return null
  const sealed = mapOf(payload)[SEALED]
  return sealed instanceof Uint8Array ? sealed : null
}

/** The output and meta of a registration's result. */
export interface Brought {
  readonly output: Uint8Array | null
  readonly meta: Uint8Array | null
}

const OUTCOMES = ['booked', 'waitlisted']
const FEE_STATUSES = ['none', 'charged', 'failed']
const MEASURED = ['clock_offset_ms', 'sent_after_ms']

/** The rest of a result without the booking number, which identifies a person (AUDIT-11): outcome and times. */
export function resultWithoutPeople({ output, meta }: Brought): Brought {
  return {
    output: output === null ? null : encodeCbor(plainOutput(mapOf(output))),
    meta: meta === null ? null : encodeCbor(plainMeta(mapOf(meta))),
  }
}

/** The stored form of a registration's result: all of it encrypted, with its impersonal fields beside it. */
export function sealedResult({ output, meta }: Brought, sealed: Uint8Array): Brought {
  const plain = output === null ? {} : plainOutput(mapOf(output))
  return {
    output: encodeCbor({ ...plain, [SEALED]: sealed }),
    meta: meta === null ? null : encodeCbor(plainMeta(mapOf(meta))),
  }
}

/** The sealed part of a `sealedResult`; null for any other output. */
export function sealedInResult(output: Uint8Array): Uint8Array | null {
  const isMap = [0xa1, 0xa2, 0xa3, 0xa4].includes(output[0] ?? 0)
  if (!isMap || !startsWith(output.subarray(1), SEALED_START.slice(1))) return null
  const sealed = mapOf(output)[SEALED]
  return sealed instanceof Uint8Array ? sealed : null
}

/** A sealed result that cannot be opened: outcome, times and the mark `unreadable`. */
export function unreadableResult({ output, meta }: Brought): Brought {
  const plain = output === null ? {} : plainOutput(mapOf(output))
  return { output: encodeCbor({ ...plain, ...UNREADABLE }), meta }
}

function plainOutput({ outcome, fee_status, looked_up }: CborMap): CborMap {
  return {
    ...(OUTCOMES.includes(outcome as string) ? { outcome } : {}),
    ...(FEE_STATUSES.includes(fee_status as string) ? { fee_status } : {}),
    ...(looked_up === true ? { looked_up } : {}),
  } as CborMap
}

function plainMeta(meta: CborMap): CborMap {
  const kept = MEASURED.filter((name) => Number.isSafeInteger(meta[name]))
  return Object.fromEntries(kept.map((name) => [name, meta[name]])) as CborMap
}

function startsWith(payload: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, i) => payload[i] === byte)
}

function whereAndWhen(map: CborMap): CborMap {
  const { provider, org_ref, event_id, scheduled_time } = map
  const kept = Object.entries({ provider, org_ref, event_id, scheduled_time })
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as CborMap
}

function mapOf(payload: Uint8Array): CborMap {
  try {
    const map = decodeCbor(payload)
    return isPlainObject(map) ? (map as CborMap) : {}
  } catch {
    return {}
  }
}
