import { FairleadError } from '@fairlead/core'
import { expect, it } from 'vitest'
import { checkParams } from './check-params.ts'
import { LEASE_ID, TASK_ID } from './examples.ts'
import { METHODS } from './methods/index.ts'
import { limitComplete, limitReserve } from './records/limit.ts'

function refusal(check: () => unknown): FairleadError {
  try {
    check()
  } catch (error) {
    if (error instanceof FairleadError) return error
    throw error
  }
  throw new Error('it was accepted')
}

it('RPC-5: gives what was sent', () => {
  const { params } = METHODS['aicf.getJob']
  expect(checkParams(params, { task_id: TASK_ID })).toEqual({ task_id: TASK_ID })
})

it.each([
  [{}, 'task_id', 'task_id: expected 32 bytes as 0x and 64 lower-case hex digits'],
  [{ task_id: TASK_ID.toUpperCase() }, 'task_id', 'task_id: expected 32 bytes'],
  [{ task_id: TASK_ID, odd: 1 }, 'odd', 'odd: there is no such field; expected only task_id'],
  [{ task_id: false }, 'task_id', 'task_id: expected 32 bytes'],
])('RPC-5: %o is refused by the name of its field', (params, field, message) => {
  const error = refusal(() => checkParams(METHODS['aicf.getJob'].params, params))
  expect(error.code).toBe('InvalidParams')
  expect(error.details).toMatchObject({ field })
  expect(error.message).toContain(message)
})

it('RPC-5: names all problems at once', () => {
  const wrong = { lease_id: 1, code: 7, permanent: 'yes', worker_id: LEASE_ID.repeat(3) }
  const error = refusal(() => checkParams(METHODS['aicf.failLease'].params, wrong))
  const fields = (error.details['problems'] as { field: string }[]).map(({ field }) => field)
  expect(fields.sort()).toEqual(['code', 'lease_id', 'permanent', 'worker_id'])
})

it('RPC-5: the text of an unknown field is not repeated at any length', () => {
  const error = refusal(() => checkParams(METHODS['stats.get'].params, { ['x'.repeat(5_000)]: 1 }))
  expect(error.message.length).toBeLessThan(200)
})

it('RPC-5: the length of a list is checked before its first item', () => {
  let touched = 0
  const regions = new Proxy(new Array(2_000).fill(1), {
    get: (list, key, self) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) touched++
      return Reflect.get(list, key, self)
    },
  })
  const params = { kind: 'task', payload: {}, regions }
  expect(() => checkParams(METHODS['aicf.enqueue'].params, params)).toThrow(
    'regions: expected array to have <=1000 items',
  )
  expect(touched).toBe(0)
})

it('RPC-5: the check ends with the twentieth problem', () => {
  let touched = 0
  const regions = new Proxy(new Array(900).fill(1), {
    get: (list, key, self) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) touched++
      return Reflect.get(list, key, self)
    },
  })
  const params = { kind: 'task', payload: {}, regions }
  expect(() => checkParams(METHODS['aicf.enqueue'].params, params)).toThrow(
    /regions\.19: expected string, received number$/,
  )
  expect(touched).toBe(20)
})

/** What a schema is made of. */
interface Def {
  readonly type: string
  readonly itemsMax?: number
  readonly innerType?: unknown
  readonly element?: unknown
  readonly shape?: object
  readonly options?: readonly unknown[]
}

it('RPC-5: every list in the params of a method has a greatest length', () => {
  const open: string[] = []
  const look = (schema: unknown, path: string): void => {
    const { def } = (schema as { _zod: { def: Def } })._zod
    const { type, itemsMax, innerType, element, shape = {}, options = [] } = def
    if (type === 'array' && itemsMax === undefined) open.push(path)
    for (const inner of [innerType, element, ...options]) if (inner) look(inner, path)
    for (const [name, field] of Object.entries(shape)) look(field, `${path}.${name}`)
  }
  for (const { name, params } of Object.values(METHODS)) look(params, name)
  look(limitReserve, 'limits.reserve')
  look(limitComplete, 'limits.complete')
  expect(open).toEqual([])
})
