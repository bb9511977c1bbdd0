import { decodeCbor, ERRORS, encodeCbor } from '@fairlead/core'
import { describe, expect, it } from 'vitest'
import { EVENTS } from '../events/index.ts'
import { TOPICS } from '../events/topics.ts'
import type { Method } from '../method.ts'
import { NOTIFICATIONS } from '../notifications/index.ts'
import { wireCodec } from '../wire/codec.ts'
import { METHODS } from './index.ts'

describe.each(Object.entries(METHODS) as [string, Method][])('%s', (name, method) => {
  const { params, result, example } = method

  it('RPC-1: is known under its own name, in one sentence', () => {
    expect(method.name).toBe(name)
    expect(method.summary).toMatch(/^[A-Z].*\.$/)
  })

  it('RPC-1: has an example that its schemas accept', () => {
    expect(params.parse(example.params)).toEqual(example.params)
    expect(result.parse(example.result)).toEqual(example.result)
  })

  it('RPC-5: refuses a field that it does not know', () => {
    const odd = { ...(example.params as object), odd: 1 }
    expect(params.safeParse(odd).success).toBe(false)
  })

  it('RPC-6: says the same in CBOR', () => {
    for (const [schema, value] of [
      [params, example.params],
      [result, example.result],
    ] as const) {
      const codec = wireCodec(schema)
      const there = encodeCbor(codec.toCbor(value))
      const back = codec.fromCbor(decodeCbor(there))
      // A payload stays as it came: the rules of its kind read both forms.
      if (!JSON.stringify(value).includes('"payload"')) expect(back).toEqual(value)
    }
  })
})

describe.each(Object.entries(EVENTS))('the event %s', (name, { schema, example, ...event }) => {
  it('RPC-1: has an example that its schema accepts, in both forms', () => {
    expect(event.name).toBe(name)
    expect(schema.parse(example)).toEqual(example)
    const codec = wireCodec(schema)
    expect(codec.fromCbor(decodeCbor(encodeCbor(codec.toCbor(example))))).toEqual(example)
  })
})

describe.each(Object.entries(NOTIFICATIONS))('the message %s', (name, message) => {
  it('RPC-1: has an example that its schema accepts, in both forms', () => {
    expect(message.name).toBe(name)
    expect(message.params.parse(message.example)).toEqual(message.example)
    const codec = wireCodec(message.params)
    expect(() => encodeCbor(codec.toCbor(message.example))).not.toThrow()
  })
})

it('RPC-1: every event is a topic', () => {
  expect([...TOPICS]).toEqual(Object.keys(EVENTS))
})

it('RPC-4: a method is refused only with codes that there are', () => {
  for (const { errors } of Object.values(METHODS) as Method[]) {
    for (const code of errors) expect(Object.keys(ERRORS)).toContain(code)
  }
})
