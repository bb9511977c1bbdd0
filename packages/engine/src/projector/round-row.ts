import { type Market, type Provider, type Seed, taggedHashHex } from '@fairlead/core'
import {
  type KindRound,
  PROVIDERS_KEPT,
  type RoundRow,
  roundRefusals,
} from '@fairlead/core/internal'

/** The stored form of a round's decisions for one kind. Call it after the leases are issued. */
export function roundRow(
  round: KindRound,
  given: {
    readonly market: Market
    /** The rounds of all kinds. */
    readonly rounds: readonly KindRound[]
    readonly height: number
    readonly seed: Seed
  },
): RoundRow {
  const { market, rounds, height, seed } = given
  const ids = round.batch.jobs.map(({ id }) => id)
  const { order } = market.policy.match
  const { providers, ranks } = order === 'score' ? ranked(round) : shuffled(round)
  const { lists, listOf } = roundRefusals(market, round, rounds, providers)
  return {
    height,
    kind: round.kind,
    at: market.nowMs,
    seed,
    batchDigest: taggedHashHex('fairlead|batch', ids.join('')),
    batchSize: ids.length,
    order,
    providers: providers.map(({ id }) => id),
    ranks,
    assignments: round.assignments.map(({ job, provider }, i) => [
      job.id,
      provider.id,
      listOf[i] ?? null,
    ]),
    refusals: lists,
  }
}

interface Asked {
  readonly providers: readonly Provider[]
  readonly ranks: readonly number[] | null
}

function shuffled({ providerOrder }: KindRound): Asked {
  return { providers: providerOrder(PROVIDERS_KEPT), ranks: null }
}

function ranked({ ranking }: KindRound): Asked {
  const providers: Provider[] = []
  const ranks: number[] = []
  for (const [rank, equals] of ranking().entries()) {
    for (const provider of equals) {
      if (providers.length === PROVIDERS_KEPT) return { providers, ranks }
      providers.push(provider)
      ranks.push(rank)
    }
  }
  return { providers, ranks }
}
