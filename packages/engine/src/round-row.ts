import { type KindRound, type RoundRow, type Seed, taggedHashHex } from '@fairlead/core'

/** Providers of a round that are kept for explaining it. */
const PROVIDERS_KEPT = 20

/** What a round decided for one kind, as it is kept. */
export function roundRow(round: KindRound, height: number, seed: Seed, at: number): RoundRow {
  const ids = round.batch.jobs.map(({ id }) => id)
  return {
    height,
    kind: round.kind,
    at,
    seed,
    batchDigest: taggedHashHex('fairlead|batch', ids.join('')),
    batchSize: ids.length,
    providers: round.providerOrder(PROVIDERS_KEPT).map(({ id }) => id),
    assignments: round.assignments.map(({ job, provider }) => [job.id, provider.id]),
  }
}
