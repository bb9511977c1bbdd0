import { expect, it } from 'vitest'
import { readValue, valueText, withValue } from './put-path.ts'

it('a value is put at its path, and what is beside it stays', () => {
  const tree = { queue: { batch_size: 512, lease: { ai_secs: 60 } }, admit: [] }
  expect(withValue(tree, 'queue.lease.task_secs', 30)).toEqual({
    queue: { batch_size: 512, lease: { ai_secs: 60, task_secs: 30 } },
    admit: [],
  })
  expect(withValue({}, 'match.fairness', 'tenant')).toEqual({ match: { fairness: 'tenant' } })
  expect(tree.queue.lease).toEqual({ ai_secs: 60 })
})

it('a value is read as JSON, or else as text, and written the same', () => {
  expect(['512', 'true', '[1]', 'tenant', '"5"', 'null'].map(readValue)).toEqual([
    512,
    true,
    [1],
    'tenant',
    '5',
    null,
  ])
  expect([512, 'tenant', null, { a: 1 }].map(valueText)).toEqual([
    '512',
    'tenant',
    'null',
    '{"a":1}',
  ])
})
