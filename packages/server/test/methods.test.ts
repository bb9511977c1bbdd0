import { FairleadError } from '@fairlead/core'
import { METHODS, type Method, type MethodName, ROLES } from '@fairlead/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PEOPLE, type Person, Rig } from './rig.ts'

let rig: Rig
beforeAll(async () => {
  // Each method is refused several times; on a fast machine that is too much for one address.
  const limits = { refusalsPerSecond: 100_000, refusalsBurst: 100_000 }
  rig = await Rig.open({ limits })
})
afterAll(() => rig.close())

const FORMS = ['json', 'cbor'] as const
const NAMES = Object.keys(METHODS) as MethodName[]

/** What each method takes that only HTTP can tell apart. */
describe.each(NAMES)('%s', (name) => {
  const { roles, example }: Method = METHODS[name]
  const one = Object.keys(PEOPLE).find((person) => mayCall(person as Person)) as Person

  function mayCall(person: Person): boolean {
    const { role } = PEOPLE[person]
    return role === 'admin' || roles.includes(role)
  }

  it.each(FORMS)('AUTH-1: without a token it is Unauthorized (%s)', async (form) => {
    const { status, body, headers } = await rig.post(null, callOf(name, example.params), form)
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('Bearer')
    expect(body).toMatchObject({ error: { code: -32014, data: { code: 'Unauthorized' } } })
  })

  it('AUTH-4: a role that it is not for is Forbidden', async () => {
    for (const person of Object.keys(PEOPLE) as Person[]) {
      if (mayCall(person)) continue
      expect(await rig.outcome(person, name, example.params), person).toBe('Forbidden')
    }
    expect(ROLES).toEqual(expect.arrayContaining([...roles]))
  })

  it.each(FORMS)(
    'RPC-5: a field that it does not know is refused by its name (%s)',
    async (form) => {
      const params = { ...(example.params as object), odd_field: 1 }
      const { status, body } = await rig.post(one, callOf(name, params), form)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        id: 7,
        error: {
          code: -32602,
          message: expect.stringContaining('odd_field: there is no such field') as string,
          data: { code: 'InvalidParams', retryable: false },
        },
      })
    },
  )

  it('RPC-6: whoever asks, and whatever is wrong with it, the refusal is the same in both forms', async () => {
    const wrong = [example.params, {}, { ...(example.params as object), odd_field: 1 }]
    let refusals = 0
    for (const person of Object.keys(PEOPLE) as Person[]) {
      for (const params of wrong) {
        const [json, cbor] = [
          await rig.post(person, callOf(name, params), 'json'),
          await rig.post(person, callOf(name, params), 'cbor'),
        ].map(({ status, body }) => ({ status, ...(body as { error?: object }) }))
        // What was done by the first cannot always be done again.
        if (json?.error === undefined) continue
        expect(cbor, `${person} ${JSON.stringify(params)}`).toEqual(json)
        refusals++
      }
    }
    expect(refusals).toBeGreaterThan(0)
  })

  it.each([[[1, 2]], [[null]], ['text'], [5]])('RPC-3: params %j are no params', async (params) => {
    const { body } = await rig.post(one, { jsonrpc: '2.0', id: 7, method: name, params })
    const { error } = body as { error: { code: number } }
    expect([-32602, -32600]).toContain(error.code)
  })

  it('RPC-3: params may come as one object in an array', async () => {
    const byName = await refusalOf(name, { odd_field: 1 })
    const inArray = await refusalOf(name, [{ odd_field: 1 }])
    expect(inArray).toEqual(byName)
  })

  async function refusalOf(method: MethodName, params: unknown): Promise<string> {
    const thrown: unknown = await rig.call(one, method, params as never).catch((error) => error)
    expect(thrown).toBeInstanceOf(FairleadError)
    return (thrown as FairleadError).message
  }
})

it('RPC-2: a method that comes later, or never, is −32601', async () => {
  for (const method of [
    'aicf.unregister',
    'signup.undo',
    'limits.undefine',
    '__proto__',
    'toString',
  ]) {
    const { body } = await rig.post('admin', { jsonrpc: '2.0', id: 1, method, params: {} })
    expect(body).toMatchObject({ id: 1, error: { code: -32601 } })
  }
})

function callOf(method: string, params: unknown) {
  return { jsonrpc: '2.0', id: 7, method, params }
}
