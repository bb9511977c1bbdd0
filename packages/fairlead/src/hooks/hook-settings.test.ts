import { expect, it } from 'vitest'
import { hooksField } from './hook-settings.ts'

const field = hooksField()
const GIVEN = { url: 'https://a.test/in', events: ['jobFailed'], secret: '${env:SECRET}' }

it('HOOK-1: a webhook has a URL, events and a secret, and the rest has defaults', () => {
  const filter = { name: 'resize', tag: ['eu', 'us'], provider_id: 'provider:atlas' }
  expect(field.read({ billing: { ...GIVEN, events: '*', filter, allow: '10.0.0.0/8' } })).toEqual({
    billing: {
      ...GIVEN,
      events: ['*'],
      filter: {
        kind: [],
        name: ['resize'],
        tag: ['eu', 'us'],
        caller: [],
        providerId: ['provider:atlas'],
      },
      allow: ['10.0.0.0/8'],
      attempts: 12,
      timeoutMs: 10_000,
    },
  })
  expect(field.read(field.show(field.read({ a: GIVEN }) ?? {}))).toEqual(field.read({ a: GIVEN }))
})

it.each([
  [{ A: GIVEN }, '.A: expected an id of 1 to 32 of a–z, 0–9, dash and underscore'],
  [{ [`a${'b'.repeat(32)}`]: GIVEN }, /^\.ab+: expected an id/],
  [
    { a: { ...GIVEN, url: undefined } },
    '.a.url: expected a URL that begins with https:// or http:// and has no password, and found none',
  ],
  [
    { a: { ...GIVEN, secret: undefined } },
    '.a.secret: expected ${env:NAME} or ${file:path}, and found none',
  ],
  [{ a: { ...GIVEN, events: [] } }, '.a.events: expected at least one event, or *'],
  [{ a: { ...GIVEN, url: 'ftp://a.test' } }, /^\.a\.url: expected a URL/],
  [{ a: { ...GIVEN, url: 'https://me:pass@a.test' } }, /^\.a\.url: expected a URL/],
  [{ a: { ...GIVEN, events: ['jobProgress'] } }, /^\.a\.events: expected names of events/],
  [{ a: { ...GIVEN, allow: ['10.0.0.0/33'] } }, /^\.a\.allow: expected addresses/],
  [{ a: { ...GIVEN, filter: { kind: ['tasks'] } } }, /^\.a\.filter\.kind: expected some of/],
  [{ a: { ...GIVEN, filter: { caller: ['acme'] } } }, /^\.a\.filter\.caller: expected ids/],
  [{ a: { ...GIVEN, attempts: 0 } }, /^\.a\.attempts: expected/],
  [{ a: { ...GIVEN, retries: 3 } }, /^\.a\.retries: there is no such setting/],
])('HOOK-1: %j is refused', (written, problem) => {
  expect(field.read(written)).toBeUndefined()
  const problems = field.problems?.(written) ?? []
  expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)])
})

it('HOOK-1: a secret that is written out is refused, and not repeated', () => {
  const problems = field.problems?.({ a: { ...GIVEN, secret: 'hunter2hunter2' } }) ?? []
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain('.a.secret: expected ${env:NAME} or ${file:path}')
  expect(problems[0]).not.toContain('hunter2')
})
