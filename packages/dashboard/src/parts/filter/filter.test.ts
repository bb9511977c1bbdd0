import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completions } from './complete.ts'
import { parseFilter, TERMS, termText, tokensOf } from './filter.ts'

const NOW = Date.parse('2026-11-19T12:00:00Z')
const filterOf = (text: string) => parseFilter(text, NOW)

describe('VIEW-6: the filter of jobs', () => {
  it('reads terms joined by "and"', () => {
    expect(filterOf('status:FAILED name:email error:timeout since:1h')).toEqual({
      filter: { status: 'FAILED', name: 'email', error: 'timeout', since: NOW - 3_600_000 },
      problem: null,
    })
  })

  it('reads quotes, either case, a bare id, and a provider without its prefix', () => {
    expect(filterOf('status:failed name:"my model" provider:atlas 0xABCDEF0123').filter).toEqual({
      status: 'FAILED',
      name: 'my model',
      provider_id: 'provider:atlas',
      task_id_prefix: '0xabcdef0123',
    })
    expect(filterOf('provider:provider:atlas').filter).toEqual({ provider_id: 'provider:atlas' })
    expect(filterOf('wait:no_provider until:2026-11-18').filter).toEqual({
      wait_reason: 'no_provider',
      until: Date.parse('2026-11-18T00:00:00Z'),
    })
    expect(filterOf('   ')).toEqual({ filter: {}, problem: null })
  })

  it.each([
    ['state:FAILED', 'There is no term "state:"'],
    ['constructor:x', 'There is no term "constructor:"'],
    ['email', 'There is no term "email"'],
    ['status:BROKEN', 'status: expected QUEUED'],
    ['status:', 'status: expected QUEUED'],
    ['name:', 'name: expected a text'],
    ['since:soon', 'since: expected an age'],
    ['id:0x12', 'id: expected 0x and 8 to 64 hex digits'],
    ['kind:ai kind:task', '"kind:" is there twice'],
    [`0x${'a'.repeat(8)} id:0x${'b'.repeat(8)}`, '"id:" is there twice'],
  ])('%s is told to be wrong, and nothing is asked', (text, problem) => {
    expect(filterOf(text).problem).toContain(problem)
    expect(filterOf(text).filter).toEqual({})
  })

  it('any value that is written as a term is read as it was', () => {
    const value = fc
      .string({ minLength: 1 })
      .filter((text) => /[^\s"]/.test(text) && !text.includes('"'))
    fc.assert(
      fc.property(value, (text) => {
        expect(filterOf(termText('tag', text))).toEqual({ filter: { tag: text }, problem: null })
      }),
    )
  })

  it('nothing that can be written makes it fail', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { filter, problem } = filterOf(text)
        expect(problem === null || Object.keys(filter).length === 0).toBe(true)
        expect(tokensOf(text).join('').length).toBeLessThanOrEqual(text.length)
      }),
    )
  })
})

describe('what is proposed', () => {
  const propose = (text: string, cursor = text.length, known = {}) =>
    completions(text, cursor, known)

  it('terms that begin so and are not there yet', () => {
    expect(propose('').map(({ shown }) => shown)).toEqual(
      Object.keys(TERMS).map((name) => `${name}:`),
    )
    expect(propose('st').map(({ text }) => text)).toEqual(['status:'])
    expect(propose('status:FAILED si').map(({ shown }) => shown)).toEqual(['since:'])
  })

  it('values of the language, and those that are known', () => {
    expect(propose('status:f').map(({ text }) => text)).toEqual(['status:FAILED '])
    const known = { name: ['email', 'my model'] }
    expect(propose('name:', 5, known).map(({ text }) => text)).toEqual([
      'name:email ',
      'name:"my model" ',
    ])
    expect(propose('name:"my m', 10, known).map(({ text }) => text)).toEqual(['name:"my model" '])
    expect(propose('status:FAILED')).toEqual([])
  })

  it('the word under the cursor is replaced, and the rest stays', () => {
    const [first] = propose('sta name:email', 3)
    expect(first).toMatchObject({ text: 'status: name:email', cursor: 7 })
  })
})
