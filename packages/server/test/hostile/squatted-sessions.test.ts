import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HostileRig, type Person, wasServed } from './rig.ts'

const HOUR = 3_600_000

let rig: HostileRig
beforeAll(async () => {
  rig = await HostileRig.open()
})
afterAll(() => rig.close())

async function call(as: Person, method: string, params: object) {
  const { text } = await rig.post(as, { jsonrpc: '2.0', id: 1, method, params })
  const { result, error } = JSON.parse(text)
  return result ?? error
}
const at = (event_id: string) => ({ provider: 'site', org_ref: 'north', event_id })
const schedule = (as: Person, event: string, opens_at: number, user_id = 'kim') =>
  call(as, 'signup.schedule', { ...at(event), user_id, opens_at })
const setOpening = (event: string, opens_at: number) =>
  call('operator', 'signup.setOpening', { ...at(event), opens_at })

describe('a session that a stranger has named first', () => {
  it('SESSION-11: an operator moves it, whether the time of the stranger has come or not', async () => {
    const opens = Date.now() + HOUR
    // One far away, and one that is open at once: ranks are given.
    await schedule('attacker', 'far', opens + 1_000 * HOUR)
    await schedule('attacker', 'now', Date.now() + 3_000)
    const isOpen = async () =>
      (await call('operator', 'signup.getSession', at('now'))).session.is_open
    while (!(await isOpen()));
    for (const event of ['far', 'now']) {
      expect(await schedule('victim', event, opens)).toMatchObject({
        data: { code: 'InvalidParams' },
      })
      expect(await setOpening(event, opens)).toMatchObject({ opens_at: opens })
      expect(await schedule('victim', event, opens)).toMatchObject({ opens_at: opens, place: 2 })
    }
    const { entries } = await call('operator', 'audit.list', { limit: 1_000 })
    const actions = entries.map(({ action }: { action: string }) => action)
    expect(actions.filter((action: string) => action === 'jobRescheduled')).toHaveLength(2)
    expect(actions.filter((action: string) => action === 'openingSet')).toHaveLength(2)
  }, 60_000)

  it('SESSION-11: with defined_only a stranger names none', async () => {
    await call('admin', 'policy.set', { policy: { signup: { sessions: 'defined_only' } } })
    const opens = Date.now() + HOUR
    expect(await schedule('attacker', 'mine', opens)).toMatchObject({
      data: { code: 'InvalidParams' },
    })
    await setOpening('mine', opens)
    expect(await schedule('victim', 'mine', opens)).toMatchObject({ place: 1 })
    await call('admin', 'policy.set', { policy: {} })
  })
})

it('RPC-9: many squatted sessions hold up no other call', async () => {
  const damage = await rig.suffer('500 squatted sessions', async () => {
    const opens_at = Date.now() + HOUR
    for (let i = 0; i < 5; i++) {
      const calls = Array.from({ length: 100 }, (_, id) => ({
        ...{ jsonrpc: '2.0', id, method: 'signup.schedule' },
        params: { ...at(`squat-${i}-${id}`), user_id: 'kim', opens_at },
      }))
      await rig.post('attacker', calls)
    }
  })
  expect(wasServed(damage)).toBe(true)
}, 120_000)

describe('the users of another tenant', () => {
  it('SESSION-10: nobody takes the place of another’s user, or learns of it', async () => {
    const opens = Date.now() + HOUR
    const squatted = await schedule('attacker', 'users', opens, 'kim')
    const own = await schedule('victim', 'users', opens, 'kim')
    expect([squatted.place, own.place]).toEqual([1, 2])
    expect(await schedule('victim', 'users', opens, 'kim')).toMatchObject({
      data: { code: 'IdempotencyConflict', details: { reference: own.reference } },
    })
    // The answer to the probe of a stranger is the same for one that has a place and one that has none.
    await schedule('victim', 'users', opens, 'max')
    const probes = [
      await schedule('attacker', 'users', opens, 'lee'),
      await schedule('attacker', 'users', opens, 'max'),
    ]
    expect(probes.map((answer) => typeof answer.reference)).toEqual(['string', 'string'])
  })

  it('SIGNUP-6: unknown and foreign references are answered alike', async () => {
    const opens = Date.now() + HOUR
    const { reference, task_id } = await schedule('victim', 'alike', opens)
    const unknownTask = `0x${'7'.repeat(64)}`
    for (const method of ['signup.audit', 'signup.cancel']) {
      for (const [foreign, unknown] of [
        [reference, 'SCH-222222'],
        [task_id, unknownTask],
      ]) {
        const answers = [
          await call('attacker', method, { id: foreign }),
          await call('attacker', method, { id: unknown }),
        ]
        const [one, other] = answers.map((answer) =>
          JSON.stringify(answer).replaceAll(foreign, '…').replaceAll(unknown, '…'),
        )
        expect(one).toBe(other)
        expect(answers[0]).toMatchObject({ data: { code: 'NotFound' } })
      }
    }
    const sessions = [at('alike'), at('nothing')]
    const [one, other] = await Promise.all(
      sessions.map(async (one) => JSON.stringify(await call('attacker', 'signup.getSession', one))),
    )
    expect(one).toBe(other)
    expect(await call('victim', 'signup.audit', { id: reference })).toMatchObject({
      registration: { reference },
    })
  })
})

describe('a session with many people', () => {
  const IN_LINE = 5_000
  const PEOPLE_AT_ONCE = 100

  /** The processor's time that 300 people take to join: other programs of a busy machine do not count. */
  async function joining(inLine: number): Promise<number> {
    const server = await HostileRig.open({ inLine })
    let next = 0
    try {
      const asked = { jsonrpc: '2.0', id: 1, method: 'signup.getSession', params: at('full') }
      const { text } = await server.post('operator', asked)
      const opens_at = JSON.parse(text).result?.session.opens_at ?? Date.now() + HOUR
      const join = async (): Promise<number> => {
        const batch = Array.from({ length: PEOPLE_AT_ONCE }, () => ({
          ...{ jsonrpc: '2.0', id: next, method: 'signup.schedule' },
          params: { ...at('full'), user_id: `u${next++}`, opens_at },
        }))
        const before = server.cpuMs()
        const { text: answers } = await server.post('victim', batch)
        expect(JSON.parse(answers).at(-1).result).toMatchObject({ of: inLine + next })
        return server.cpuMs() - before
      }
      // The first ones are not measured: much is done for the first time then.
      await join()
      return (await join()) + (await join()) + (await join())
    } finally {
      await server.close()
    }
  }

  it('SESSION-12: a sign-up takes no longer with 5,000 in line than with none', async () => {
    const [few, many] = [await joining(0), await joining(IN_LINE)]
    console.log(`300 sign-ups: ${few} ms of the processor with none in line, ${many} ms with 5,000`)
    // The system counts in steps of 10 ms.
    expect(many).toBeLessThan(4 * (few + 20))
  }, 600_000)
})
