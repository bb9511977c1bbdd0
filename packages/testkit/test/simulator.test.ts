import {
  INVARIANTS,
  RUN_STEPS,
  reportOf,
  runSeed,
  SCENARIOS,
  simulate,
} from '@fairlead/testkit/simulator'
import { afterAll, describe, expect, it } from 'vitest'

/** Steps of all scenarios together; `npm run test:long` takes more. */
const STEPS = process.env['LONG_TESTS'] ? 280_000 : 48_000
/** Runs of each scenario. */
const RUNS = Math.ceil(STEPS / RUN_STEPS / SCENARIOS.length)
const MINUTES = 60_000

describe('every invariant holds after every step', () => {
  const counts: Record<string, number> = {}
  let steps = 0

  it.each(SCENARIOS)(
    'ENGINE-1, ENGINE-2, ENGINE-4, DISPATCH-7: in the scenario $name ($about)',
    async ({ name }) => {
      const result = await simulate({ seed: 1, steps: RUNS * RUN_STEPS, scenario: name })
      expect(result.failure === null ? 'held' : reportOf(result.failure)).toBe('held')
      steps += result.steps
      for (const [what, count] of Object.entries(result.counts)) {
        counts[what] = (counts[what] ?? 0) + count
      }
    },
    10 * MINUTES,
  )

  afterAll(() => {
    expect(steps).toBeGreaterThanOrEqual(STEPS)
    // A world in which nothing goes wrong would prove nothing.
    expect(WANTED.filter((what) => (counts[what] ?? 0) < STEPS / 14_000)).toEqual([])
  })
})

/** What must have happened many times over all runs. */
const WANTED = [
  'jobEnqueued',
  'jobAssigned',
  'jobStarted',
  'jobCompleted',
  'jobCanceled',
  'jobFailed.permanent_error',
  'jobFailed.retries_exhausted',
  'jobFailed.worker_lost',
  'jobExpired.ttl_abs',
  'jobExpired.ttl_rel',
  'jobExpired.retries_exhausted',
  'jobRequeued.ACK_TIMEOUT',
  'jobRequeued.LEASE_EXPIRED',
  'jobRequeued.PROVIDER_FAIL',
  'jobRequeued.DECLINED',
  'jobRequeued.RELEASED',
  'jobRequeued.LEASE_CANCELLED',
  'jobRequeued.WORKER_LOST',
  'leaseRenewed',
  'leaseMoved',
  'leaseCancelled.worker_lost',
  'leaseCancelled.disowned',
  'leaseCancelled.released',
  'leaseCancelled.over_cap',
  'leaseCancelled.provider_status',
  'leaseCancelled.job_ended',
  'workerConnected',
  'workerLeft',
  'providerStatus',
  'openingSet',
  'queuePaused',
  'bulkEnded',
  'schedulePut',
  'scheduleSkipped.missed',
  'scheduleSkipped.overlap',
  'queueResumed',
  'jobCancelNoted',
  'jobFailed.outcome_unknown',
  'jobFailed.retry_window_exhausted',
  'jobRequeued.PROOF_INVALID',
  'proofAccepted',
  'proofDropped',
  'slashWarning',
  'providerSlashed.fails',
  'epochSettled',
  'providerUnstaked',
  'payoutRecorded',
  // Appends behind two or more that hang: an opening does not wait for a slow disk.
  'crowded',
  'refused',
  'cut',
  'defect',
  'replayed',
  // Moments at which enqueues wait for the tables.
  'heldBack',
]

describe('a seed', () => {
  it.each([3, 9])('ENGINE-1: gives the same run again, to the last row (seed %i)', async (seed) => {
    const run = () => runSeed({ seed, steps: 400, wantsHash: true })
    const first = await run()
    expect(first.failure).toBeNull()
    expect(await run()).toEqual(first)
    expect(
      (await runSeed({ seed: seed + SCENARIOS.length, steps: 400, wantsHash: true })).hash,
    ).not.toBe(first.hash)
  })

  it('is in the report of a failure, with the command that leads there again', () => {
    const failure = {
      seed: 17,
      scenario: 'storm',
      step: 321,
      runSteps: RUN_STEPS,
      invariant: 'journal' as const,
      message: 'the chain is broken at entry 9',
      lines: ['320 @1 clock ticks 3 ms'],
    }
    const report = reportOf(failure)
    expect(report).toContain('npm run simulate -- --seed 17 --scenario storm\n')
    expect(report).toContain('step 321')
    expect(report).toContain(INVARIANTS.journal)
    expect(report).toContain('clock ticks 3 ms')
    expect(reportOf({ ...failure, runSteps: 500 })).toContain('--scenario storm --steps 500\n')
  })
})
