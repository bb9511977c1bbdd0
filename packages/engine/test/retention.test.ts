import type { JobId } from '@fairlead/core'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACME, Rig } from './rig.ts'

const HOUR_MS = 3_600_000

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open(new MemoryStore())
})
afterEach(() => rig.close())

async function ended(name: string, kind = 'task'): Promise<JobId> {
  const payload =
    kind === 'task' ? { name, args: {} } : { model: name, prompt: '0x6869', max_tokens: 1 }
  const id = await rig.engine.enqueue({ kind, payload }, { caller: ACME })
  await rig.engine.cancel(id, ACME)
  return id
}
const left = async (): Promise<JobId[]> => rig.jobs()
/** Retention is looked at once a minute. */
const minutes = async (count: number) => {
  for (let i = 0; i < count; i++) await rig.clock.advance(60_000)
}

describe('retention', () => {
  it('TTL-5: a task is kept as long as its name says, then as its kind does, then as all are', async () => {
    await rig.engine.setPolicy({
      kinds: { task: { retention_secs: 7_200 } },
      tasks: { short: { retention_secs: 3_600 }, long: { retention_secs: 14_400 } },
      queue: { ttl: { gc_horizon_secs: 10_800 } },
    })
    const short = await ended('short')
    const plain = await ended('plain')
    const other = await ended('m', 'ai')
    const long = await ended('long')
    const live = await rig.engine.enqueue(
      { kind: 'task', payload: { name: 'short', args: {} } },
      { caller: ACME },
    )
    await rig.clock.advance(HOUR_MS)
    expect(await left()).toEqual([short, plain, other, long, live])
    await minutes(2)
    expect(await left()).toEqual([plain, other, long, live])
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual([other, long, live])
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual([long, live])
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual([live])
  })

  it('TTL-5: the policy of now counts, and a restart goes on with what is left', async () => {
    const first = await ended('a')
    const second = await ended('b')
    await rig.clock.advance(2 * HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual([first, second])
    await rig.engine.setPolicy({ tasks: { a: { retention_secs: 3_600 } } })
    await minutes(2)
    expect(await left()).toEqual([second])
    await rig.engine.setPolicy({ tasks: { b: { retention_secs: 3_600 } } })
    await rig.restart(0)
    await minutes(2)
    expect(await left()).toEqual([])
  })

  it('TTL-5: the key of a job that is deleted is free again', async () => {
    await rig.engine.setPolicy({ tasks: { resize: { retention_secs: 3_600 } } })
    const call = rig.enqueue('key')
    await call.done
    const id = call.value as JobId
    await rig.engine.cancel(id, ACME)
    const again = rig.enqueue('key')
    await again.done
    expect(again.value).toBe(id)
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual([])
    expect(await rig.enqueue('key', { n: 2 }).done).toBe('ok')
  })

  it('TTL-5: many jobs go in commands of 250, and those that stay are passed over', async () => {
    await rig.engine.setPolicy({ tasks: { a: { retention_secs: 3_600 } } })
    const kept: JobId[] = []
    for (let i = 0; i < 600; i++) {
      const id = await ended(i % 3 === 0 ? 'b' : 'a')
      if (i % 3 === 0) kept.push(id)
    }
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual(kept)
  })

  it('TTL-5: results go with their jobs, unless the policy keeps them', async () => {
    const run = async (name: string): Promise<JobId> => {
      const worker = await rig.connect()
      const offer = await rig.offered(name, worker)
      await rig.complete(offer).done
      return offer.jobId
    }
    await rig.engine.setPolicy({ tasks: { resize: { retention_secs: 3_600 } } })
    const gone = await run('gone')
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await rig.engine.view.read.result(gone)).toBeNull()
    await rig.engine.setPolicy({
      tasks: { resize: { retention_secs: 3_600 } },
      queue: { completion: { result_retention_secs: 86_400 } },
    })
    const stays = await run('stays')
    await rig.clock.advance(HOUR_MS)
    await minutes(2)
    expect(await left()).toEqual([])
    expect(await rig.engine.view.read.result(stays)).not.toBeNull()
  })
})
