import type { Caller, JobId, ProviderId } from '@fairlead/core'

/** Numbers that look random and are the same in every run. `random(m)` is 0 … m − 1. */
export function numbers(seed: number): (m: number) => number {
  let state = seed >>> 0
  return (m) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * m)
  }
}

/** Ids as they are in life: 32 bytes that share no beginning. */
export function jobIdNumber(i: number): JobId {
  return hexId(i, 0x9e37_79b9) as JobId
}

export function callerNumber(i: number): Caller {
  return hexId(i, 0x85eb_ca6b) as Caller
}

export function providerNumber(i: number): ProviderId {
  return `provider:${hexId(i, 0xc2b2_ae35).slice(2, 42)}` as ProviderId
}

function hexId(i: number, salt: number): string {
  const mixed = (Math.imul(i + 1, salt) >>> 0).toString(16).padStart(8, '0')
  // One flat string; joined pieces would be kept as a tree and cost more than the text.
  return Buffer.from(`0x${mixed}${i.toString(16).padStart(56, '0')}`, 'latin1').toString('latin1')
}
