import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HostileRig } from './rig.ts'

describe('RPC-9: one request does not hold up other tenants', () => {
  let rig: HostileRig
  beforeAll(async () => {
    rig = await HostileRig.open()
    for (let i = 0; i < 20; i++) {
      const batch = Array.from({ length: 100 }, (_, j) => ({
        jsonrpc: '2.0', id: j, method: 'aicf.enqueue',
        params: { kind: 'task', payload: { name: 'work', args: { i, j } } },
      }))
      await rig.post('attacker', batch)
    }
  })
  afterAll(() => rig.close())

  it.each([
    ['rpc.discover', {}, 1_000],
    ['aicf.listJobs', { limit: 1_000 }, 200],
    ['signup.listSessions', {}, 1_000],
  ])('%s %j × %d', async (method, params, count) => {
    const damage = await rig.suffer(`${method} × ${count}`, async () => {
      const { text, ms } = await rig.batch('attacker', method, params, count)
      console.log(text.length, Math.round(ms), text.slice(-200))
    })
    expect(damage.p99Ms).toBeLessThan(2_000)
  })
  it.each(['aicf.getTimeline', 'aicf.explainJob'])('%s', async (method) => {
    const { text } = await rig.enqueue('attacker', 5_000)
    const { task_id } = JSON.parse(text).result
    const damage = await rig.suffer(method, async () => {
      const { text, ms } = await rig.batch('attacker', method, { task_id }, 1000)
      console.log(text.length, Math.round(ms))
    })
    expect(damage.p99Ms).toBeLessThan(2_000)
  })
  it('regions of 1,000,000 numbers', async () => {
    const damage = await rig.suffer('regions', async () => {
      const { text, ms } = await rig.post('attacker', { jsonrpc: '2.0', id: 1, method: 'aicf.enqueue', params: { kind: 'task', payload: {name: 'x', args: {}}, regions: new Array(900_000).fill(1) } })
      console.log(text.slice(0,300), Math.round(ms))
    })
    expect(damage.p99Ms).toBeLessThan(2_000)
  })
})
