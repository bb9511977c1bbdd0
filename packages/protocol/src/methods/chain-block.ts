import { ENVELOPE_BYTES_MAX } from '@fairlead/core'
import { z } from 'zod'
import { AT, TX_HASH } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { bytes32, bytesUpTo, count, name, timeMs } from '../wire/leaves.ts'
import { list } from '../wire/list.ts'

const PROOFS_MAX = 10_000

export const chainBlock = defineMethod({
  name: 'chain.block',
  summary: 'Brings a block of the chain in: its proofs, and the claims that are final by it.',
  description:
    'With a chain only. A block at or below the head replaces the blocks from its height on. A refused proof is counted, no more.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({
    height: count,
    time: timeMs.describe('counts as at most now'),
    miner_id: name,
    proofs: list(
      z.strictObject({ envelope: bytesUpTo(ENVELOPE_BYTES_MAX), tx_hash: bytes32 }),
      PROOFS_MAX,
    ).optional(),
  }),
  result: z.strictObject({
    head: count,
    final_height: count.describe('nothing at or below it is undone'),
    accepted: count,
    refused: count,
  }),
  errors: ['InvalidState'],
  example: {
    params: {
      height: 123_457,
      time: AT,
      miner_id: 'm-1',
      proofs: [{ envelope: '0xa3', tx_hash: TX_HASH }],
    },
    result: { head: 123_457, final_height: 123_445, accepted: 0, refused: 1 },
  },
})
