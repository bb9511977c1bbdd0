import { broken } from '../../violation.ts'
import type { Judged } from '../fund/fund-book.ts'
import type { Step } from '../fund/proving.ts'
import type { Details } from './journal-reader.ts'
import type { Moment } from './moment.ts'

/** A claim begins: that of the proof which comes next in its command. */
export function proofAccepted(moment: Moment, details: Details): void {
  const { claim } = nextStep(moment, 'accepted')
  const { job, blockHeight } = claim
  const lease = job.proving?.lease
  const isRight =
    job.facts.id === details['jobId'] &&
    lease?.id === details['leaseId'] &&
    lease?.provider.id === details['providerId'] &&
    blockHeight === details['blockHeight']
  if (!isRight) broken('proof', `a proof of ${String(details['jobId'])} is told of, and not taken`)
  moment.jobs.add(job)
}

/** A reorganisation has dropped the claim. */
export function proofDropped(moment: Moment, details: Details): void {
  const { claim } = nextStep(moment, 'dropped')
  if (claim.job.facts.id !== details['jobId'])
    broken('chain', `the claim of ${String(details['jobId'])} is dropped out of turn`)
  moment.jobs.add(claim.job)
}

/** SLA-6: a violation that does not count. */
export function slashWarning(moment: Moment, details: Details): void {
  const { judgement } = nextJudged(moment, details)
  const told = String(details['violations'])
  if (judgement.type === 'warning' && String(judgement.violations) === told) return
  broken('service', `${String(details['providerId'])} is warned for ${told}, and was not to be`)
}

export function providerSlashed(moment: Moment, details: Details): void {
  const { judgement } = nextJudged(moment, details)
  const { providerId, reason, penalty } = details
  const isRight =
    judgement.type === 'slash' &&
    judgement.reason === reason &&
    judgement.amount === BigInt(penalty as number | string)
  if (isRight) return
  const due = judgement.type === 'slash' ? `${judgement.amount} for ${judgement.reason}` : 'nothing'
  broken(
    'service',
    `${String(providerId)} is slashed by ${String(penalty)} for ${String(reason)}, due is ${due}`,
  )
}

export function epochSettled({ book }: Moment): void {
  if (book.fund?.settled !== true) broken('settlements', 'an epoch is settled that nobody closed')
  book.fund.settled = false
}

function nextStep<Type extends Step['type']>(
  { book }: Moment,
  type: Type,
): Extract<Step, { readonly type: Type }> {
  const step = book.fund?.steps.shift()
  if (step?.type !== type) broken('proof', `the journal tells of ${type}, due is ${step?.type}`)
  return step as Extract<Step, { readonly type: Type }>
}

function nextJudged(moment: Moment, details: Details): Judged {
  const judged = moment.book.fund?.judged.shift()
  if (judged === undefined || judged.provider.id !== details['providerId'])
    broken('service', `${String(details['providerId'])} is judged, due is ${judged?.provider.id}`)
  moment.providers.add(judged.provider)
  return judged
}
