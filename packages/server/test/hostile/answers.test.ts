import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HostileRig, wasServed } from './rig.ts'

/** Of a server whose tenants do nothing but wait for each other, the first test would take seconds. */
const SLOW_MS = 120_000
const ANSWER_BYTES = 8 * 1_024 * 1_024

describe('RPC-9: one request does not hold up other tenants', () => {
  let rig: HostileRig
  let task_id = ''
  beforeAll(async () => {
    // The heap of a small machine: an answer without a bound would end the server.
    rig = await HostileRig.open({ heapMiB: 192 })
    for (let i = 0; i < 20; i++) await rig.batch('attacker', 'aicf.enqueue', JOB, 100)
    task_id = JSON.parse((await rig.enqueue('attacker', 1)).text).result.task_id
  }, SLOW_MS)
  afterAll(() => rig?.close())

  it.each([
    ['rpc.discover', () => ({}), 1_000],
    ['aicf.listJobs', () => ({ limit: 1_000 }), 200],
    ['aicf.getTimeline', () => ({ task_id }), 1_000],
    ['aicf.explainJob', () => ({ task_id }), 200],
    ['signup.listSessions', () => ({}), 1_000],
  ] as const)(
    '%s, many in a batch',
    async (method, params, count) => {
      let text = ''
      const damage = await rig.suffer(`${method} × ${count}`, async () => {
        text = (await rig.batch('attacker', method, params(), count)).text
      })
      expect(wasServed(damage)).toBe(true)
      const answers = JSON.parse(text) as { result?: object; error?: { data: { code: string } } }[]
      expect(answers).toHaveLength(count)
      for (const { error } of answers) if (error) expect(error.data.code).toBe('LimitExceeded')
      // The refusals of the rest are short, but there may be a thousand of them.
      expect(text.length).toBeLessThan(ANSWER_BYTES + count * 500)
      expect(answers.some(({ result }) => result !== undefined)).toBe(true)
    },
    SLOW_MS,
  )

  it(
    'one token on many connections',
    async () => {
      const damage = await rig.suffer('16 batches of 20 lists', () =>
        Promise.all(
          Array.from({ length: 16 }, () => rig.batch('attacker', 'aicf.listJobs', {}, 20)),
        ),
      )
      expect(wasServed(damage)).toBe(true)
    },
    SLOW_MS,
  )

  it(
    'a call that is not carried out changes nothing, and says so',
    async () => {
      const { text } = await rig.post('attacker', [
        ...Array.from({ length: 100 }, (_, id) => call(id, 'rpc.discover', {})),
        call(100, 'aicf.cancelJob', { task_id }),
      ])
      const answers = JSON.parse(text) as { id: number; error?: { message: string } }[]
      const refused = answers.filter(({ error }) => error !== undefined)
      expect(refused.length).toBeGreaterThan(0)
      expect(refused[0]?.error?.message).toMatch(
        /8388608 bytes; this call changed nothing: send it/,
      )
      const { text: seen } = await rig.post('attacker', call(1, 'aicf.getJob', { task_id }))
      const isCanceled = answers.find(({ id }) => id === 100)?.error === undefined
      expect(JSON.parse(seen).result.status).toBe(isCanceled ? 'CANCELED' : 'QUEUED')
    },
    SLOW_MS,
  )

  it(
    'RPC-5: lists of a million numbers are refused by their length',
    async () => {
      const regions = new Array(900_000).fill(1)
      const damage = await rig.suffer('regions', async () => {
        const { text } = await rig.post('attacker', call(1, 'aicf.enqueue', { ...JOB, regions }))
        expect(JSON.parse(text).error.message).toContain(
          'regions: expected array to have <=1000 items',
        )
      })
      expect(wasServed(damage)).toBe(true)
    },
    SLOW_MS,
  )

  it(
    'LIMITS-1: a token may not fill the memory with requests that it does not finish',
    async () => {
      await rig.close()
      rig = await HostileRig.open({ limits: { bodiesBytes: 3_000_000 } })
      const head = `POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rig.tokens.attacker}\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n[`
      await rig.mute(head)
      // Its connection was accepted first; from here on the order of the two is the server's.
      await rig.enqueue('victim', 1)
      const { status, text } = await rig.post('attacker', `[${' '.repeat(1_500_000)}]`)
      expect(status).toBe(429)
      expect(JSON.parse(text).error.data).toMatchObject({ code: 'RateLimited' })
      expect((await rig.enqueue('attacker', 1)).text).toContain('"accepted":true')
    },
    SLOW_MS,
  )
})

const JOB = { kind: 'task', payload: { name: 'work', args: {} } }

function call(id: number, method: string, params: object) {
  return { jsonrpc: '2.0', id, method, params }
}
