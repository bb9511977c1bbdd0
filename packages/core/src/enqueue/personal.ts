import { utf8 } from '../bytes.ts'
import { type CborMap, decodeCbor, encodeCbor } from '../cbor.ts'
import { isPlainObject } from '../plain-object.ts'

/** The field that stands in a stored registration for all that is encrypted of it (AUDIT-9). */
const SEALED = 'sealed'

// Payloads of all kinds come through here, so they are known by their first bytes: the size of the map
// and its first key, which is the shortest (CBOR-3).
const SEALED_START = [0xa5, 0x66, ...utf8(SEALED)]
const ERASED_START = [0xa4, 0x67, ...utf8('org_ref')]

/**
 * What stays of the payload of a registration when what it says of people is erased: where and when
 * (AUDIT-10). What is no such payload becomes an empty map.
 */
export function withoutPeople(payload: Uint8Array): Uint8Array {
  return encodeCbor(whereAndWhen(mapOf(payload)))
}

/** Whether what a registration says of people was erased. */
export function isErased(payload: Uint8Array): boolean {
  return startsWith(payload, ERASED_START)
}

/** A registration as it is stored: its whole payload encrypted, and beside that where and when. */
export function sealedPayload(payload: Uint8Array, sealed: Uint8Array): Uint8Array {
  return encodeCbor({ ...whereAndWhen(mapOf(payload)), [SEALED]: sealed })
}

/** What `sealedPayload` was given as sealed; null for any other payload. */
export function sealedIn(payload: Uint8Array): Uint8Array | null {
  if (!startsWith(payload, SEALED_START)) return null
  const sealed = mapOf(payload)[SEALED]
  return sealed instanceof Uint8Array ? sealed : null
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
