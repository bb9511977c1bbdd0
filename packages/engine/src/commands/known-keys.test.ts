import type { JobId } from '@fairlead/core'
import { expect, it } from 'vitest'
import { KnownKeys } from './known-keys.ts'

const job = (id: string) => ({ id: id as JobId, payload: new Uint8Array() })

it('KEYS-1: a key is known from its enqueue until a look-up in the tables is sure to find it', () => {
  const keys = new KnownKeys()
  keys.add('a', job('1'))
  keys.handed(1)
  keys.add('b', job('2'))
  keys.handed(2)
  expect([keys.get('a')?.id, keys.get('b')?.id]).toEqual(['1', '2'])
  keys.applied(1)
  // A look-up that began earlier may not have seen it.
  expect(keys.get('a')?.id).toBe('1')
  keys.forgetApplied()
  expect([keys.get('a'), keys.get('b')?.id]).toEqual([undefined, '2'])
  keys.applied(2)
  keys.forgetApplied()
  expect(keys.get('b')).toBeUndefined()
})

it('KEYS-1: a key of a discarded batch is not known, and those that were handed over are', () => {
  const keys = new KnownKeys()
  keys.add('a', job('1'))
  keys.handed(1)
  keys.add('b', job('2'))
  keys.dropOpen()
  expect([keys.get('a')?.id, keys.get('b')]).toEqual(['1', undefined])
})

it('KEYS-1: a known key is not looked up', () => {
  const keys = new KnownKeys()
  expect(keys.mustLookUp('a')).toBe(true)
  keys.add('a', job('1'))
  expect(keys.mustLookUp('a')).toBe(false)
})
