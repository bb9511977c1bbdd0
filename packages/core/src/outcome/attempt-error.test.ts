import { fc, test } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { World } from '../../test/world.ts'
import { utf8Length } from '../encoding/bytes.ts'
import { decodeCbor, encodeCbor } from '../encoding/cbor.ts'
import { giveBack } from '../lease/give-back.ts'
import type { LeaseFailure } from '../ports/lease-source.ts'
import { attemptError, registrationCode } from './attempt-error.ts'
import { decideProof } from './complete-lease.ts'

const kept = (given: Partial<LeaseFailure>) =>
  attemptError({ code: 'oom', permanent: false, ...given })
const codeOf = (code: unknown): string => kept({ code: code as string }).code
const messageOf = (message: string): string | null => kept({ message }).message

describe('the code of a failure', () => {
  it.each([
    ['out_of_memory', 'out_of_memory'],
    ['a-z.0-9_', 'a-z.0-9_'],
    ['Timed out', '_imed_out'],
    ['http 503', 'http_503'],
    ['päron/1', 'p_ron_1'],
    ['a\u{1f600}b', 'a_b'],
    ['a\ud800b', 'a_b'],
    ['\u0130\u212a', '__'],
    ['line\nbreak\0', 'line_break_'],
  ])('FAIL-2: %j is kept as %j', (given, code) => {
    expect(codeOf(given)).toBe(code)
  })

  it.each([[''], [undefined], [null], [5], [{}], [['oom']]])(
    'FAIL-2: where %j is given it is error',
    (given) => {
      expect(codeOf(given)).toBe('error')
    },
  )

  it('FAIL-2: the first 64 characters are kept', () => {
    expect(codeOf('x'.repeat(64))).toBe('x'.repeat(64))
    expect(codeOf(`${'x'.repeat(64)}y`)).toBe('x'.repeat(64))
    expect(codeOf(`x${'\u{1f600}'.repeat(80)}`)).toBe(`x${'_'.repeat(63)}`)
    expect(codeOf('\u0130'.repeat(80))).toBe('_'.repeat(64))
  })

  test.prop([fc.string({ unit: 'binary', maxLength: 200 })])(
    'FAIL-2: it is always 1 to 64 of a–z, 0–9 and _.-, and kept as it is if it was that before',
    (given) => {
      const code = codeOf(given)
      expect(code).toMatch(/^[a-z0-9_.-]{1,64}$/)
      expect(codeOf(code)).toBe(code)
    },
  )
})

describe('the message of a failure', () => {
  it('FAIL-2: up to 4 KiB it is kept as it is', () => {
    for (const text of ['x', 'x'.repeat(4_096), 'é'.repeat(2_048), '\u{1f600}'.repeat(1_024)]) {
      expect(messageOf(text)).toBe(text)
    }
  })

  it('FAIL-2: a longer one is cut to 4 KiB and ends in a mark', () => {
    expect(messageOf('x'.repeat(4_097))).toBe(`${'x'.repeat(4_092)} …`)
    expect(messageOf('x'.repeat(1_000_000))).toBe(`${'x'.repeat(4_092)} …`)
    expect(messageOf('é'.repeat(2_049))).toBe(`${'é'.repeat(2_046)} …`)
  })

  it('FAIL-2: it is not cut inside a character', () => {
    // 4,092 bytes are left for the text: 1 and 1,022 of four bytes, and 3 bytes that fit nobody.
    expect(messageOf(`x${'\u{1f600}'.repeat(1_100)}`)).toBe(`x${'\u{1f600}'.repeat(1_022)} …`)
    expect(messageOf(`xx${'é'.repeat(2_100)}`)).toBe(`xx${'é'.repeat(2_045)} …`)
    expect(messageOf(`x${'é'.repeat(2_100)}`)).toBe(`x${'é'.repeat(2_045)} …`)
  })

  it('FAIL-2: half a surrogate pair is replaced, and no message is null', () => {
    expect(messageOf('a\ud800b')).toBe('a\ufffdb')
    expect(messageOf('')).toBeNull()
    expect(kept({}).message).toBeNull()
    expect(kept({ message: 5 as unknown as string }).message).toBeNull()
  })

  test.prop([
    fc.array(fc.constantFrom('x', 'é', '…', '\u{1f600}', '\ud83d'), {
      size: 'max',
      maxLength: 3_000,
    }),
  ])(
    'FAIL-2: it is a beginning of what was given, of at most 4 KiB, and marked if anything is missing',
    (characters) => {
      const given = `.${characters.join('')}`.toWellFormed()
      const message = messageOf(given) ?? ''
      expect(utf8Length(message)).toBeLessThanOrEqual(4_096)
      expect(message.isWellFormed()).toBe(true)
      if (message === given) return
      expect(utf8Length(given)).toBeGreaterThan(4_096)
      expect(message.endsWith(' …')).toBe(true)
      expect(given.startsWith(message.slice(0, -2))).toBe(true)
      // Not one more character would have fitted.
      const next = [...given.slice(message.length - 2)][0] ?? ''
      expect(utf8Length(message) + utf8Length(next)).toBeGreaterThan(4_096)
    },
  )
})

describe('the details of a failure', () => {
  it('FAIL-2: up to 16 KiB they are kept, and more are replaced by their size', () => {
    const most = new Uint8Array(16_384).fill(1)
    expect(kept({ details: most }).details).toBe(most)
    const more = encodeCbor({ stack: 'x'.repeat(16_384) })
    const { details } = kept({ details: more })
    expect(decodeCbor(details as Uint8Array)).toEqual({ truncated: true, bytes: more.length })
  })

  it('FAIL-2: none are null', () => {
    expect(kept({}).details).toBeNull()
    expect(kept({ details: 'stack' as unknown as Uint8Array }).details).toBeNull()
  })
})

describe('a failure in the market', () => {
  /** Every way in which an attempt fails, and the code that is kept of it. */
  const FAILURES: Readonly<Record<string, (world: World) => unknown>> = {
    oom: (world) => world.fail(world.run(), { code: 'oom', message: 'no room' }),
    ack_timeout: (world) => {
      world.assign()
      world.at(5_000)
    },
    lease_expired: (world) => {
      world.run()
      world.at(600_000)
    },
    worker_lost: (world) => giveBack(world.market, world.run(), 'worker_lost'),
    proof_invalid: (world) => {
      world.policy({ queue: { completion: { ai_verification: 'proof' } } })
      decideProof(world.market, world.complete(world.run()).job, false)
    },
  }

  it.each(Object.keys(FAILURES))('FAIL-1: %s is told once, with its attempt', (code) => {
    const world = new World()
    const told: unknown[] = []
    Object.assign(world.market, {
      touch: {
        ...world.market.touch,
        failure: ({ attempt }: { attempt: number }, failure: object) =>
          told.push({ attempt, ...failure }),
      },
    })
    FAILURES[code]?.(world)
    expect(told).toEqual([{ attempt: 0, code, message: expect.any(String), details: null }])
  })

  it('FAIL-1: an attempt that was declined, given back or taken back has not failed', () => {
    const world = new World()
    const told: unknown[] = []
    const failure = (_: unknown, error: unknown) => told.push(error)
    Object.assign(world.market, { touch: { ...world.market.touch, failure } })
    world.decline(world.run())
    world.release(world.run())
    giveBack(world.market, world.assign(), 'worker_lost')
    world.complete(world.run())
    world.run()
    world.policy({ queue: { quotas: { leases_max_per_provider: 0 } } })
    expect(told).toEqual([])
  })

  it('FAIL-1: the event of the fail has the code, and nothing else of it', () => {
    const world = new World()
    const lease = world.run()
    world.fail(lease, { code: 'e_secret', message: 'a secret', details: new Uint8Array(3) })
    const told = world.events.filter(({ type }) => type === 'leaseCancelled')
    expect(told).toEqual([
      {
        type: 'leaseCancelled',
        at: 0,
        leaseId: lease.id,
        reason: 'provider_fail',
        code: 'e_secret',
      },
    ])
    expect(JSON.stringify(world.events)).not.toContain('a secret')
  })

  it('HEALTH-5: the job is at fault by its code as it is kept', () => {
    const world = new World()
    world.fail(world.run(), { code: 'invalid input', permanent: true })
    expect(world.a).toMatchObject({ health: 1_000, failures: 0 })
  })
})

describe('the code of a registration', () => {
  const { errorTaxonomy, ...rest } = new World().market.sessions.policyOf('p')
  const platform = {
    ...rest,
    errorTaxonomy: { ...errorTaxonomy, fully_booked: 'permanent' },
  } as const

  it.each([
    'timeout',
    'network',
    'not_yet_open',
    'validation_error',
    'sold_out',
    'not_found',
    'auth_error',
    'fully_booked',
    'http_503',
    'error',
    'outcome_unknown',
  ])('FAIL-5: %s is kept', (code) => {
    expect(registrationCode(code, platform)).toBe(code)
  })

  it.each([
    ['Sorry, Jane Doe is on the list already'],
    ['SOLD_OUT'],
    ['jane@example.org'],
    ['http_5034'],
    ['xhttp_503'],
    ['constructor'],
    ['__proto__'],
    [''],
    [undefined],
    [null],
    [503],
  ])('FAIL-5: %j is other', (code) => {
    expect(registrationCode(code, platform)).toBe('other')
  })
})
