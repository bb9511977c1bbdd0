import { createHash } from 'node:crypto'

/** Bare SHA3 as Node has it, without tags, encoding or hex. */
export function sha3(bytes: Uint8Array): Uint8Array {
  return createHash('sha3-256').update(bytes).digest()
}
