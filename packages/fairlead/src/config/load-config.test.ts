import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FairleadError } from '@fairlead/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ConfigInput, loadConfig } from './load-config.ts'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'fairlead-config-'))
})
afterEach(() => rmSync(cwd, { recursive: true }))

const load = (input: Partial<ConfigInput> = {}) => loadConfig({ env: {}, cwd, ...input })

function yaml(text: string): void {
  writeFileSync(join(cwd, 'fairlead.yaml'), text)
}

function problemsOf(input: Partial<ConfigInput> = {}): readonly string[] {
  try {
    load(input)
  } catch (error) {
    const { code, details } = error as FairleadError
    expect(code).toBe('InvalidParams')
    return details['problems'] as string[]
  }
  throw new Error('it was accepted')
}

describe('where settings come from', () => {
  it('without anything all is default, and the policy is that of the preset queue', () => {
    const { settings, policy, writtenPolicy, file } = load()
    expect(settings.server).toMatchObject({ host: '127.0.0.1', port: 7433 })
    expect(settings.store.path).toBe(join(cwd, 'fairlead.db'))
    expect(policy.match.fairness).toBe('tenant')
    expect({ writtenPolicy, file }).toEqual({ writtenPolicy: null, file: null })
  })

  it('a flag goes over the environment, and that over the file, setting by setting', () => {
    yaml('queue:\n  batch_size: 1\n  ack_timeout_ms: 1000\n  max_depth: 10\n')
    const env = { FAIRLEAD_QUEUE_BATCH_SIZE: '2', FAIRLEAD_QUEUE_ACK_TIMEOUT_MS: '2000' }
    const { policy, writtenPolicy } = load({ env, sets: ['queue.batch_size=3'] })
    const { batchSize, ackTimeoutMs, maxDepth } = policy.queue
    expect([batchSize, ackTimeoutMs, maxDepth]).toEqual([3, 2_000, 10])
    expect(writtenPolicy).toEqual({
      queue: { batch_size: 3, ack_timeout_ms: 2_000, max_depth: 10 },
    })
  })

  it('a preset changes the defaults of the policy', () => {
    yaml('preset: fund\n')
    expect(load().policy.registry.minStake.ai).toBe(10_000n)
  })

  it.each([
    ['FAIRLEAD_CLIENT_TOKEN', '12345', (c: ReturnType<typeof load>) => c.settings.client.token],
    ['FAIRLEAD_TOKEN', '12345', (c: ReturnType<typeof load>) => c.settings.client.token],
  ])('what is text stays text: %s', (name, value, get) => {
    expect(get(load({ env: { [name]: value } }))).toBe('12345')
  })

  it('lists, numbers, false and null are written in the environment as in the file', () => {
    const env = {
      FAIRLEAD_REGISTRY_DENIED_REGIONS: '[eu-1, eu-2]',
      FAIRLEAD_QUEUE_MAX_PER_CALLER: 'null',
      FAIRLEAD_REGISTRY_ATTESTATION_REQUIRED_AI: 'false',
      FAIRLEAD_PRIORITY_WEIGHTS_FEE: '0.55',
    }
    const { policy } = load({ env })
    expect(policy.registry.deniedRegions).toEqual(['eu-1', 'eu-2'])
    expect(policy.queue.maxPerCaller).toBeNull()
    expect(policy.registry.attestationRequired.ai).toBe(false)
    expect(policy.priority.weights.fee).toBe(550)
  })

  it('a path in the file is meant from the folder of the file, one in a flag from here', () => {
    writeFileSync(join(cwd, 'other.yaml'), 'store:\n  path: data/f.db\n')
    const elsewhere = tmpdir()
    const config = loadConfig({ env: {}, cwd: elsewhere, file: join(cwd, 'other.yaml') })
    expect(config.settings.store.path).toBe(join(cwd, 'data', 'f.db'))
    const named = { 'store.path': { flag: '--store', raw: 'x.db' } }
    expect(load({ named }).settings.store.path).toBe(join(cwd, 'x.db'))
  })

  it('an empty file and a heading with nothing under it say nothing', () => {
    yaml('# nothing yet\n')
    expect(load().writtenPolicy).toBeNull()
    yaml('queue:\n')
    expect(load().writtenPolicy).toBeNull()
  })
})

/** Section 13 of the specification that the rules come from, as it stands there. */
const SPEC_BLOCK = `queue:
  batch_size: 256
  dispatch_interval_ms: 250
  ack_timeout_ms: 5000
  lease:
    ai_secs: 600
    quantum_secs: 180
    renew_alpha: 0.6
    renew_beta: 0.5
    renewals_max: 4
  retries:
    attempt_max: 6
    base_backoff_ai_secs: 5
    base_backoff_quantum_secs: 2
    backoff_factor: 2.0
    backoff_cap_secs: 900
  quotas:
    leases_max_per_provider: 16
    ai_units_per_epoch: 100000
    quantum_units_per_epoch: 10000
  ttl:
    abs_default_ai_secs: 86400
    abs_default_quantum_secs: 7200
    rel_max_secs: 21600
    gc_horizon_secs: 604800
`

describe('the configuration of the specification', () => {
  it('POLICY-1: its whole block loads as it stands, and every value of it is in force', () => {
    yaml(SPEC_BLOCK)
    const { policy, origins } = load()
    expect(origins.size).toBe(20)
    expect(policy.queue).toMatchObject({
      batchSize: 256,
      lease: { renewAlpha: 600, renewBeta: 500, renewalsMax: 4 },
      retries: { attemptMax: 6, backoffFactor: 2_000, backoffCapSecs: 900 },
      quotas: { leasesMaxPerProvider: 16, aiUnitsPerEpoch: 100_000 },
      ttl: { relMaxSecs: 21_600, gcHorizonSecs: 604_800 },
    })
  })
})

describe('what is wrong', () => {
  it('all problems of file, environment and flags come at once, each with its place', () => {
    yaml('server:\n  port: http\nqueue:\n  batch_size: 0\n  batchsize: 1\nquue: {}\n')
    const env = { FAIRLEAD_LOG_LEVEL: 'loud' }
    const problems = problemsOf({ env, sets: ['queue.nothing=1', 'queue'] })
    const file = join(cwd, 'fairlead.yaml')
    expect(problems).toEqual([
      expect.stringMatching(
        /^queue\.batchsize: there is no such setting; did you mean queue\.batch_size\? queue has max_depth, .*:5\)$/,
      ),
      expect.stringMatching(
        /^quue: there is no such setting; did you mean queue\? the top level has preset, server, .*:6\)$/,
      ),
      expect.stringMatching(
        /^--set queue\.nothing: there is no such setting; queue has max_depth, .*, completion$/,
      ),
      '--set queue: expected <setting>=<value>, as in queue.batch_size=64',
      `server.port: expected a whole number from 0 to 65535, got "http" (${file}:2)`,
      'log.level: expected one of trace, debug, info, warn, error, silent, got "loud" (environment FAIRLEAD_LOG_LEVEL)',
      `queue.batch_size: expected a whole number from 1 to 100000, got 0 (${file}:4)`,
    ])
  })

  it.each([
    [
      'queue:\n  ai_secs: 4\n',
      'queue.ai_secs: there is no such setting; did you mean queue.lease.ai_secs?',
    ],
    [
      'retries:\n  attempt_max: 6\n',
      'retries: there is no such setting; did you mean queue.retries?',
    ],
    ['server:\n  prot: 1\n', 'did you mean server.port? server has host, port,'],
    [
      'queue:\n  lease:\n    aiSecs: 1\n',
      'did you mean queue.lease.ai_secs? queue.lease has ai_secs,',
    ],
    [
      'queue:\n  completion:\n    task_verification: proof\n',
      'queue.completion.task_verification: expected one of none, got "proof"',
    ],
    [
      'registry:\n  attestation_required:\n    task: true\n',
      'registry.attestation_required.task: expected false, or a class in registry.attestation_classes that names task',
    ],
    ['zebra: 1\n', 'zebra: there is no such setting; the top level has preset,'],
    [
      'match:\n  order: best\n',
      'match.order: expected one of first-fit, rotate, score, got "best"',
    ],
    ['store:\n  path: ":memory:"\n', 'store.path: expected a file; jobs in memory would be gone'],
  ])('a wrong name or value is told with the right ones: %j', (text, problem) => {
    yaml(text)
    expect(problemsOf()).toEqual([expect.stringContaining(problem)])
    expect(() => load()).toThrow('explained in docs/reference/settings.md')
  })

  it('variables that stand for no setting are warned of, each with the name that was meant', () => {
    const env = {
      FAIRLEAD_PORT: '1',
      FAIRLEAD_SERVER_PROT: '1',
      FAIRLEAD_QUEUE_BATCHSIZE: '1',
      FAIRLEAD_XYZZY: '1',
      // A worker sets these for its program, which may call `fairlead`.
      FAIRLEAD_TASK_ID: '0x',
      FAIRLEAD_PAYLOAD: '{}',
      OTHER: '1',
    }
    expect(load({ env }).warnings).toEqual([
      expect.stringContaining(
        'FAIRLEAD_PORT: ignored, no such setting; did you mean FAIRLEAD_SERVER_PORT?',
      ),
      expect.stringContaining(
        'FAIRLEAD_SERVER_PROT: ignored, no such setting; did you mean FAIRLEAD_SERVER_PORT?',
      ),
      expect.stringContaining('did you mean FAIRLEAD_QUEUE_BATCH_SIZE?'),
      expect.stringMatching(
        /^FAIRLEAD_XYZZY: ignored, no such setting; expected one of FAIRLEAD_CONFIG, FAIRLEAD_URL, .*FAIRLEAD_STORE_PATH/,
      ),
    ])
    expect(load({ env: { FAIRLEAD_SERVER_PORT: '1', FAIRLEAD_URL: 'http://x' } }).warnings).toEqual(
      [],
    )
  })

  it('rules that two settings share are checked over all sources together', () => {
    yaml('queue:\n  lease:\n    ai_secs: 2\n')
    expect(problemsOf({ env: { FAIRLEAD_QUEUE_ACK_TIMEOUT_MS: '3000' } })).toEqual([
      expect.stringMatching(
        /^queue\.ack_timeout_ms: .* \(environment FAIRLEAD_QUEUE_ACK_TIMEOUT_MS\)$/,
      ),
    ])
  })

  it('what is no YAML is told by its line', () => {
    yaml('queue:\n  batch_size: [1\n')
    expect(problemsOf()).toEqual([expect.stringMatching(/fairlead\.yaml:\d+: not YAML: /)])
    yaml('- a\n- b\n')
    expect(problemsOf()).toEqual([expect.stringContaining('expected settings by name')])
    yaml('queue: 5\n')
    expect(problemsOf()).toEqual([expect.stringContaining('queue: expected settings under it')])
    yaml('queue:\n  batch_size: 1\n  batch_size: 2\n')
    expect(problemsOf()).toEqual([expect.stringContaining('unique')])
  })

  it('a file that was named has to be there', () => {
    expect(() => load({ file: 'nowhere.yaml' })).toThrow(/there is no file .*nowhere\.yaml/)
    expect(() => load({ env: { FAIRLEAD_CONFIG: 'nowhere.yaml' } })).toThrow(/there is no file/)
  })

  it('an address is a URL of a kind that is understood', () => {
    expect(problemsOf({ env: { FAIRLEAD_URL: 'localhost' } })).toEqual([
      expect.stringContaining('client.url: expected a URL that begins with http://'),
    ])
    expect(problemsOf({ env: { FAIRLEAD_REDIS_URL: 'http://x' } })).toEqual([
      expect.stringContaining('redis.url: expected a URL that begins with redis:// or rediss://'),
    ])
  })
})
