import { type AttemptExplanation, type Explanation, explanationText } from '@fairlead/engine'
import type { ExplanationRecord } from '@fairlead/protocol'
import { detailsOf } from './job-record.ts'
import { leaseRecord } from './lease-record.ts'

export function explanationRecord(explanation: Explanation): ExplanationRecord {
  const { job, at, waitReason } = explanation
  const common = {
    task_id: job.id,
    status: job.status,
    at,
    wait_reason: waitReason,
    text: explanationText(explanation),
  }
  const tried = {
    attempts: explanation.attempts.map(attemptRecord),
    attempts_before: explanation.attemptsBefore,
  }
  if ('providers' in explanation) {
    const { notBefore, place, of, fairness, score, terms, providers, earliestAt } = explanation
    const { dependencies, priority } = explanation
    const { fee, size, tier, ageSecs } = terms
    return {
      ...common,
      waiting: {
        not_before: notBefore,
        depends_on: [...dependencies],
        priority,
        place,
        of,
        fairness,
        score,
        terms: { fee, size, tier, age_secs: ageSecs },
        providers: providers.map(({ id, refusal, until, slots, limit, advice }) => ({
          provider_id: id,
          refusal,
          until,
          slots,
          limit,
          advice,
        })),
        earliest_at: earliestAt,
        session: sessionOf(explanation.session),
      },
      ...tried,
      end: null,
    }
  }
  const { end } = explanation
  return {
    ...common,
    waiting: null,
    ...tried,
    end:
      end === null
        ? null
        : { status: end.status, reason: end.reason, ended_at: end.endedAt, digest: end.digest },
  }
}

type Waiting = Extract<Explanation, { readonly session: unknown }>

function sessionOf(
  session: Waiting['session'],
): NonNullable<ExplanationRecord['waiting']>['session'] {
  if (session === null) return null
  return {
    provider: session.platform,
    org_ref: session.orgRef,
    event_id: session.eventId,
    opens_at: session.opensAt,
    rank: session.rank,
    send_at: session.sendAt,
    in_flight: session.inFlight,
    in_flight_max: session.inFlightMax,
    tokens: session.tokens,
    next_token_at: session.nextTokenAt,
    is_lookup: session.isLookup,
  }
}

function attemptRecord({
  lease,
  round,
  ended,
}: AttemptExplanation): ExplanationRecord['attempts'][number] {
  const end = ended && { ...ended, details: detailsOf(ended.details) }
  if (round === null) return { lease: leaseRecord(lease), round: null, ended: end }
  const { height, at, seed, batchDigest, batchSize, order, providers, place, passedOver } = round
  return {
    lease: leaseRecord(lease),
    ended: end,
    round: {
      height,
      at,
      seed,
      batch_digest: batchDigest,
      batch_size: batchSize,
      order,
      providers: [...providers],
      place,
      passed_over: passedOver.map(({ providerId, refusal }) => ({
        provider_id: providerId,
        refusal,
      })),
    },
  }
}
