import { afterEach, beforeEach, expect, it } from 'vitest'
import { HostileRig, type Person } from './rig.ts'

const HEAP = { heapMiB: 64, policy: { registry: { health: 'off' } } }
const BATCH = 500
/** So many would take more than the whole heap. */
const JOBS_MAX = 400_000

let rig: HostileRig

beforeEach(async () => {
  rig = await HostileRig.open(HEAP)
})

afterEach(() => rig.close())

async function call(as: Person, method: string, params: object): Promise<Record<string, unknown>> {
  const { text } = await rig.post(as, { jsonrpc: '2.0', id: 1, method, params })
  const answer = JSON.parse(text) as { result?: Record<string, unknown>; error?: unknown }
  if (answer.result === undefined) throw new Error(`${method}: ${text}`)
  return answer.result
}

/** Enqueues until only refusals come; gives how many were accepted, and the codes of the refusals. */
async function fill(): Promise<{ accepted: number; codes: Set<string> }> {
  const params = { kind: 'task', payload: { name: 'flood', args: {} } }
  const codes = new Set<string>()
  let accepted = 0
  for (let refusedInARow = 0; refusedInARow < 20 && accepted < JOBS_MAX; ) {
    const { text } = await rig.batch('attacker', 'aicf.enqueue', params, BATCH)
    const now = text.match(/"accepted":true/g)?.length ?? 0
    for (const [, code = ''] of text.matchAll(/"code":"(\w+)"/g)) codes.add(code)
    accepted += now
    refusedInARow = now === 0 ? refusedInARow + 1 : 0
  }
  return { accepted, codes }
}

async function waiting(): Promise<number> {
  const { queues } = (await call('operator', 'stats.get', {})) as {
    queues: { kind: string; ready: number; no_provider: number }[]
  }
  return queues.reduce((sum, { ready, no_provider }) => sum + ready + no_provider, 0)
}

it('HEAP-1: with a small heap it refuses jobs before it dies, and has all of them after a kill', async () => {
  const { accepted, codes } = await fill()
  expect([...codes]).toEqual(['QueueOverCapacity'])
  expect(rig.isAlive).toBe(true)
  expect(accepted).toBeGreaterThan(1_000)
  const stats = (await call('operator', 'stats.get', {})) as { heap: Record<string, number> }
  console.log(JSON.stringify({ accepted, heap: stats.heap, rssMiB: rig.rssMiB() }))

  // Those who work go on.
  const offer = { worker_id: 'w', slots: 1, kinds: ['task'], models: ['*'] }
  const polled = await call('provider', 'aicf.pollLeases', offer)
  const [lease] = polled['leases'] as { lease_id: string }[]
  const held = { lease_id: lease?.lease_id, worker_id: 'w' }
  await call('provider', 'aicf.ackLease', held)
  await call('provider', 'aicf.completeLease', { ...held, output: '0x01' })

  await rig.kill()
  await rig.start(HEAP)
  expect(await waiting()).toBe(accepted - 1)
})
