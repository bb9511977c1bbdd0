import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { FairleadError } from '@fairlead/core'
import { classifyAnswer } from '@fairlead/core/internal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readProviders } from './providers.ts'
import { ProvidersFile } from './providers-file.ts'

/** The providers of the sign-up document, word by word. */
const SEED = `
providers:
  default:
    max_concurrency: 2
    max_rps: 2
    burst: 4
    min_spacing_ms: 50
    retry:
      window_ms: 120000
      backoff_ms: [250, 500, 1000, 2000]
      retry_on_http: [408, 429, 500, 502, 503, 504]
      fail_fast_on_codes:
        - validation_error
        - sold_out
        - not_found
  bookeo:
    max_concurrency: 3
    max_rps: 3
    burst: 6
    min_spacing_ms: 40
  campminder:
    max_concurrency: 1
    max_rps: 1
    burst: 2
    min_spacing_ms: 100
`

const BOOK = `
    adapter:
      book:
        url: https://api.example/orgs/{org_ref}/bookings
        headers: { authorization: 'Bearer {credential}' }
        body: { event: '{event_id}' }
      credentials: { default: '\${env:KEY}' }
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-providers-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const read = (text: string, env: Record<string, string> = {}) =>
  readProviders(text, { env, folder })

function problemsOf(text: string, env: Record<string, string> = {}): readonly string[] {
  try {
    read(text, env)
  } catch (error) {
    expect((error as FairleadError).code).toBe('InvalidParams')
    return (error as FairleadError).details['problems'] as string[]
  }
  throw new Error('it was accepted')
}

describe('profiles', () => {
  it('PROFILE-1: what is not given is unknown, and decides like no', () => {
    const { profile, policy, adapter } = read(SEED).get('bookeo')
    expect(profile).toEqual({
      bookingModel: 'unknown',
      supportsHold: 'unknown',
      holdTtlMs: 'unknown',
      supportsWaitlist: 'unknown',
      idempotencyKeySupported: 'unknown',
      idempotencyKeyLocation: 'unknown',
      rateLimitScope: 'unknown',
      errorTaxonomy: {},
      successDefinition: 'unknown',
    })
    expect(policy).toMatchObject({ idempotencyKeySupported: false, lookupSupported: false })
    expect(adapter).toBeNull()
  })

  it('PROFILE-1: all nine fields are read', () => {
    const { profile } = read(`
providers:
  a:
    profile:
      booking_model: hold_then_commit
      supports_hold: true
      hold_ttl_ms: 30000
      supports_waitlist: false
      idempotency_key_supported: true
      idempotency_key_location: query
      rate_limit_scope: ip
      error_taxonomy: { FULL: permanent, '500': unknown }
      success_definition: { http: [200], path: status, equals: [ok, 1] }
`).get('a')
    expect(profile).toEqual({
      bookingModel: 'hold_then_commit',
      supportsHold: true,
      holdTtlMs: 30_000,
      supportsWaitlist: false,
      idempotencyKeySupported: true,
      idempotencyKeyLocation: 'query',
      rateLimitScope: 'ip',
      errorTaxonomy: { FULL: 'permanent', '500': 'unknown' },
      successDefinition: { http: [200], path: 'status', equals: ['ok', 1] },
    })
  })

  it.each([
    ['idempotency_key_supported: true', 'profile.idempotency_key_location: expected header'],
    ['booking_model: hold_then_commit', 'profile.supports_hold: expected true'],
    ['booking_model: hold_then_commit', 'profile.hold_ttl_ms: expected a number'],
    ['booking_model: checkout_finalizes', 'profile.success_definition: expected one'],
  ])('PROFILE-1: %s alone is a problem', (line, problem) => {
    const problems = problemsOf(`providers:\n  a:\n    profile:\n      ${line}\n`)
    expect(problems).toContainEqual(expect.stringContaining(`providers.a.${problem}`))
  })
})

describe('rows', () => {
  it('PROFILE-2: a row inherits from its built-in row, then from default', () => {
    const text =
      'providers:\n  default: { burst: 9, min_spacing_ms: 7 }\n  bookeo: { burst: 5 }\n  own:\n'
    const providers = read(text)
    expect(providers.get('bookeo').policy).toMatchObject({ burst: 5, minSpacingMs: 40 })
    expect(providers.get('own').policy).toMatchObject({
      burst: 9,
      minSpacingMs: 7,
      windowMs: 120_000,
    })
    expect(providers.get('other').policy).toMatchObject({ burst: 9 })
    expect(providers.platforms).toEqual(['bookeo', 'own'])
  })

  it('PROFILE-2: profile and adapter are inherited field by field, a name is not', () => {
    const { profile, timeoutMs, lookupSettleMs, displayName } = read(`
providers:
  default:
    display_name: Everybody
    profile: { rate_limit_scope: ip, supports_waitlist: true }
    adapter: { timeout_ms: 700, lookup_settle_ms: 5 }
  a:
    profile: { rate_limit_scope: user }
    adapter: { timeout_ms: 800 }
`).get('a')
    expect(profile).toMatchObject({ rateLimitScope: 'user', supportsWaitlist: true })
    expect({ timeoutMs, lookupSettleMs, displayName }).toEqual({
      timeoutMs: 800,
      lookupSettleMs: 5,
      displayName: 'a',
    })
  })

  it('PROFILE-2: the providers of the sign-up document give the built-in budgets', () => {
    const seed = read(SEED)
    const bare = read('providers:\n  bookeo:\n  campminder:\n')
    for (const name of ['bookeo', 'campminder', 'anything']) {
      const { errorTaxonomy: _, retryOnHttp, ...policy } = seed.get(name).policy
      const { errorTaxonomy: __, retryOnHttp: none, ...builtIn } = bare.get(name).policy
      expect(policy).toEqual(builtIn)
      expect([retryOnHttp, none]).toEqual([[408, 429, 500, 502, 503, 504], null])
    }
  })

  it('PROFILE-3: lists add to what errors mean, and the taxonomy decides before them', () => {
    const policyOf = (text: string) => read(text).get('a').policy
    const listed = policyOf(`
providers:
  default:
    retry: { retry_on_http: [503, 418, 451] }
  a:
    retry: { fail_fast_on_codes: [closed, banned] }
    profile: { error_taxonomy: { banned: transient, '451': unknown } }
`)
    const classes = [
      { http: 418 },
      { http: 503 },
      { http: 429 },
      { http: 408 },
      { http: 500 },
      { http: 507 },
      { http: 451 },
      { error: 'closed', http: 503 },
      { error: 'banned' },
      { error: 'timeout' },
    ].map((answer) => classifyAnswer(answer, listed))
    expect(classes).toEqual([
      ...['transient', 'transient', 'permanent', 'permanent', 'permanent', 'transient', 'unknown'],
      ...['permanent', 'transient', 'transient'],
    ])
    // Where no list is given, the built-in one holds.
    const bare = policyOf('providers:\n  a:\n')
    expect([429, 500].map((http) => classifyAnswer({ http }, bare))).toEqual([
      ...['transient', 'transient'],
    ])
  })
})

it('MESSAGE-5: a site has a time zone of its own, that of all, or UTC', () => {
  const zones = (text: string) =>
    ['a', 'b'].map((name) => read(`providers:\n${text}`).get(name).policy.timeZone)
  expect(zones('  a: { time_zone: Asia/Tokyo }')).toEqual(['Asia/Tokyo', 'UTC'])
  const all = '  default: { time_zone: Europe/Berlin }\n  a: { time_zone: Asia/Tokyo }'
  expect(zones(all)).toEqual(['Asia/Tokyo', 'Europe/Berlin'])
  expect(problemsOf('providers:\n  a: { time_zone: Mars/Olympus }')).toEqual([
    expect.stringContaining('providers.a.time_zone: expected the name of a time zone'),
  ])
})

describe('problems', () => {
  it('PROFILE-4: all problems come at once, each by its name', () => {
    const text = `
providers:
  default: { burst: 0 }
  a:
    max_rps: fast
    maxrps: 1
    retry: { backoff_ms: [] }
    profile: { booking_model: sometimes }
    adapter:
      book:
        url: https://{org_ref}.example/
        headers: { x-api-key: abc123 }
        body: { who: '{usr_id}' }
      credentials: { org-1: '\${env:NOT_SET}', org-2: '\${file:nowhere}', org-3: abc123 }
more: 1
`
    const problems = problemsOf(text)
    expect(problems).toEqual([
      'more: there is no such setting; expected providers',
      expect.stringContaining('providers.default.burst: expected a whole number from 1'),
      expect.stringContaining('providers.a.max_rps: expected a decimal'),
      expect.stringContaining('providers.a.retry.backoff_ms: expected a list'),
      expect.stringContaining('providers.a.profile.booking_model: expected one of'),
      'providers.a.maxrps: there is no such setting; did you mean max_rps?',
      expect.stringContaining(
        'providers.a.adapter.credentials.org-1: the environment has no NOT_SET',
      ),
      expect.stringContaining(
        'providers.a.adapter.credentials.org-2: cannot read the file nowhere',
      ),
      expect.stringContaining('providers.a.adapter.credentials.org-3: expected ${env:NAME}'),
      expect.stringContaining('providers.a.adapter.book.url: expected http:// or https://'),
      expect.stringContaining('providers.a.adapter.book.headers.x-api-key: expected the secret as'),
      expect.stringContaining('providers.a.adapter.book.body: there is no {usr_id}'),
    ])
    expect(problems.join('\n')).not.toContain('abc123')
  })

  it.each([
    ['http://me:pass@a.example/', {}, 'without a name or password'],
    ['http://a.example/', { 'bad name': 'x' }, 'headers.bad name: expected the name of a header'],
    ['http://a.example/', { 'Content-Length': '5' }, 'headers.Content-Length: expected the name'],
  ])('PROFILE-4: calls that could not be made are told: %s %j', (url, headers, part) => {
    const text = JSON.stringify({ providers: { a: { adapter: { book: { url, headers } } } } })
    expect(() => readProviders(text, { env: {}, folder: '.' })).toThrow(part)
  })

  it('PROFILE-4: a file that would grow without end is refused like any other', () => {
    const nine = (name: string) => `[${Array.from({ length: 9 }, () => `*${name}`).join(', ')}]`
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
    for (const [from, to] of ['ab', 'bc', 'cd', 'de'])
      lines.push(`${to}: &${to} ${nine(`${from}`)}`)
    const text = [...lines, 'providers: {}'].join('\n')
    const error = expect.objectContaining({ code: 'InvalidParams' })
    expect(() => readProviders(text, { env: {}, folder: '.' })).toThrow(error)
  })

  it('PROFILE-4: what is no YAML is told by its line', () => {
    expect(problemsOf('providers:\n  a: [1\n')[0]).toMatch(/^line \d+: not YAML: /)
    expect(problemsOf('- a\n')).toEqual([expect.stringContaining('providers: expected a map')])
  })

  it('FEE-1: the call that charges is checked like any other, and inherited', () => {
    expect(
      problemsOf(`
providers:
  default: { adapter: { charge: { url: 'https://{org_ref}.example/fees', body: { seat: '{seat}' } } } }
  a: { adapter: { book: { url: https://a.example } } }
`),
    ).toEqual([
      expect.stringContaining('providers.a.adapter.charge.url'),
      expect.stringContaining('there is no {seat}'),
    ])
  })

  it('PROFILE-4: holds and lookups have to be complete', () => {
    const holds = 'booking_model: hold_then_commit, supports_hold: true, hold_ttl_ms: 1000'
    expect(
      problemsOf(`
providers:
  a:
    profile: { ${holds} }
    adapter: { hold: { url: https://a.example/h }, lookup: { url: https://a.example/l } }
`),
    ).toEqual([
      expect.stringContaining('providers.a.adapter.hold, adapter.commit: expected both'),
      expect.stringContaining('providers.a.adapter.answer.hold_id: expected the path'),
      expect.stringContaining(
        'providers.a.adapter.lookup_answer: expected found or booking_number',
      ),
    ])
  })
})

describe('a file', () => {
  const write = (text: string) => {
    writeFileSync(join(folder, 'new.yaml'), text)
    renameSync(join(folder, 'new.yaml'), join(folder, 'providers.yaml'))
  }
  const path = () => join(folder, 'providers.yaml')

  it('PROFILE-4: a wrong file keeps the old one and says why', () => {
    write('providers:\n  a: { burst: 5 }\n')
    const errors: FairleadError[] = []
    const file = new ProvidersFile({
      path: path(),
      env: {},
      onError: (error) => errors.push(error),
    })
    write('providers:\n  a: { burst: none }\n')
    expect(file.reload()?.message).toContain('providers.a.burst: expected')
    expect(errors).toHaveLength(1)
    expect(file.current.get('a').policy.burst).toBe(5)
    write('providers:\n  a: { burst: 7 }\n')
    expect(file.reload()).toBeNull()
    expect(file.current.get('a').policy.burst).toBe(7)
    file.close()
  })

  it('PROFILE-4: a file that is watched is read again when another is put in its place', async () => {
    write('providers:\n  a: { burst: 5 }\n')
    const file = new ProvidersFile({ path: path(), env: {}, watch: true })
    const changed = new Promise<number>((resolve) => {
      file.onChange((providers) => resolve(providers.get('a').policy.burst))
    })
    write('providers:\n  a: { burst: 8 }\n')
    expect(await changed).toBe(8)
    file.close()
  })

  it('who sends nothing reads the file without its secrets', () => {
    write(`providers:\n  a:\n    burst: 5${BOOK}`)
    expect(() => new ProvidersFile({ path: path(), env: {} })).toThrow('the environment has no KEY')
    const file = new ProvidersFile({ path: path(), env: {}, needsSecrets: false })
    expect(file.current.policySection).toMatchObject({ a: { burst: 5, lookup_supported: false } })
  })

  it('a file that is not there is told, and nothing starts', () => {
    expect(() => new ProvidersFile({ path: path() })).toThrow(/cannot read .*ENOENT/)
  })
})

it('ADAPTER-2: secrets of a configuration are not printed', () => {
  writeFileSync(join(folder, 'key'), 'file-s3cret\n')
  const text = `providers:\n  a:${BOOK.replace('${env:KEY}', '${file:key}')}`
  const fromFile = read(text).get('a')
  const fromEnv = read(`providers:\n  a:${BOOK}`, { KEY: 'env-s3cret' }).get('a')
  for (const config of [fromFile, fromEnv]) {
    const shown = inspect(config, { depth: 20, showHidden: true }) + JSON.stringify(config)
    expect(shown).not.toContain('s3cret')
  }
  const job = {
    ...{ jobId: '0x00' as never, platform: 'a', orgRef: 'o/1', eventId: 'e', userId: 'u' },
    ...{ args: {}, scheduledTime: 0, idempotencyKey: 'k' },
  }
  expect(fromFile.adapter?.request(job, null)).toMatchObject({
    url: 'https://api.example/orgs/o%2F1/bookings',
    headers: { authorization: 'Bearer file-s3cret' },
    body: '{"event":"e"}',
  })
})
