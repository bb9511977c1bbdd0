import { readFileSync } from 'node:fs'
import { brokenSeq } from '@fairlead/core'
import { NO_ROWS } from '@fairlead/core/internal'
import {
  acceptReplay,
  catchUp,
  decodeBatch,
  encodeBatch,
  type LogBatch,
  VERSION,
} from '@fairlead/engine'
import { MemoryStore } from '@fairlead/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Rig, START } from './rig.ts'

const SEED = new Uint8Array(32).fill(7)

let rig: Rig

beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

/** From now on the newest record is read as another version would have recorded it. */
function rewriteNewest(change: (batch: LogBatch) => LogBatch | Uint8Array): () => void {
  const { log } = rig.inner
  const { batch } = log.end
  const read = log.read.bind(log)
  log.read = async function* (afterBatch) {
    for await (const record of read(afterBatch)) {
      if (record.batch !== batch) {
        yield record
        continue
      }
      const changed = change(decodeBatch(record.body))
      const body = changed instanceof Uint8Array ? changed : encodeBatch(changed)
      yield { ...record, body }
    }
  }
  return () => {
    log.read = read
  }
}

/** A command that this version refuses stands behind the others. */
function withUnknownProvider({ entries, digest }: LogBatch): LogBatch {
  const at = entries.at(-1)?.at ?? START
  const command = { type: 'heartbeat', providerId: 'provider:nobody' } as const
  return { entries: [...entries, { command: command as never, at }], digest: (digest ^ 1) >>> 0 }
}

async function writtenBy(version: string): Promise<void> {
  const { batch } = await rig.inner.tables.load()
  await rig.inner.tables.apply({ ...NO_ROWS, meta: { version } }, batch)
}

async function jobInLogAlone(): Promise<number> {
  await rig.clock.advance(1_000)
  rig.store.isHoldingRows = true
  expect(await rig.enqueue('a').done).toBe('ok')
  return rig.inner.log.end.batch
}

it('ARCHIVE-1: what is replayed without an engine stays in the log, which an archive may still need', async () => {
  const batch = await jobInLogAlone()
  rig.store.die()
  expect(await catchUp(rig.inner)).toMatchObject({ batch })
  const batches: number[] = []
  for await (const record of rig.inner.log.read(batch - 1)) batches.push(record.batch)
  expect(batches).toEqual([batch])
  await rig.crash()
})

describe('a replay that differs', () => {
  it('REPLAY-1: refuses the start with the batch, the version that wrote it, and both ways out', async () => {
    const batch = await jobInLogAlone()
    await writtenBy('0.0.9')
    const restore = rewriteNewest(withUnknownProvider)
    const refusal: unknown = await rig.crash().catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      code: 'StoreUnavailable',
      details: { reason: 'replay_differs', batch, writtenBy: '0.0.9', version: VERSION },
    })
    const { message } = refusal as Error
    expect(message).toContain(`batch ${batch}: heartbeat at`)
    expect(message).toContain('start version 0.0.9 once and stop it cleanly')
    expect(message).toContain('fairlead log accept-replay')
    await expect(catchUp(rig.inner)).rejects.toMatchObject({
      details: { reason: 'replay_differs', batch },
    })
    restore()
    await rig.crash()
    expect(await rig.jobs()).toHaveLength(1)
  })

  it('REPLAY-1: a version that differs from itself reports a defect', async () => {
    await jobInLogAlone()
    const restore = rewriteNewest(withUnknownProvider)
    await expect(rig.crash()).rejects.toThrow(/this is a defect or damage: please report it/)
    restore()
    await rig.crash()
    expect(await rig.jobs()).toHaveLength(1)
  })

  it('REPLAY-1: commands of another format are refused, and cannot be accepted', async () => {
    const batch = await jobInLogAlone()
    const restore = rewriteNewest((one) => {
      const body = Uint8Array.from(encodeBatch(one))
      body[0] = 99
      return body
    })
    const details = { reason: 'unreadable_batch', batch }
    await expect(rig.crash()).rejects.toMatchObject({ details })
    const options = { nowMs: START, incarnation: SEED }
    await expect(acceptReplay(rig.inner, options)).rejects.toMatchObject({ details })
    restore()
    await rig.crash()
    expect(await rig.jobs()).toHaveLength(1)
  })

  it('REPLAY-1: a start writes its version into the tables before its first record', async () => {
    const { tables } = rig.inner
    expect((await tables.load()).meta['version']).toBe(VERSION)
    await jobInLogAlone()
    await writtenBy('0.0.9')
    await rig.crash()
    const { meta, jobs } = await tables.load()
    expect(meta['version']).toBe(VERSION)
    expect(jobs).toHaveLength(1)
  })

  it('REPLAY-1: the version is the one of the package', () => {
    const file = new URL('../package.json', import.meta.url)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: VERSION })
  })
})

describe('accepting a replay', () => {
  it('REPLAY-2: takes the new decisions durably, under a new incarnation, with an audit entry', async () => {
    const to = await jobInLogAlone()
    const restore = rewriteNewest(withUnknownProvider)
    await expect(rig.crash()).rejects.toThrow('cannot be replayed')
    const { tables, log, read } = rig.inner
    const before = await tables.load()
    const accepting = { nowMs: START + 60_000, incarnation: SEED }

    const trial = await acceptReplay(rig.inner, { ...accepting, isTrial: true })
    expect(trial.differences.map(({ batch, command }) => [batch, command])).toEqual([
      [to, 'heartbeat'],
      [to, null],
    ])
    expect(await tables.load()).toEqual(before)

    const accepted = await acceptReplay(rig.inner, accepting)
    expect(accepted).toEqual(trial)
    restore()
    const after = await tables.load()
    expect(after).toMatchObject({ batch: to, meta: { incarnation: `0x${'07'.repeat(32)}` } })
    expect(after.jobs).toHaveLength(1)
    const entries = await read.journal(0, 1_000)
    expect(entries.at(-1)).toMatchObject({
      ...{ actor: 'operator', action: 'replayAccepted', subject: 'store' },
      details: { subject: 'store', batches: to - before.batch, differences: 1 },
    })
    expect(brokenSeq(entries)).toBe(null)
    expect(log.end).toEqual({ batch: to, digest: null })
    await rig.crash()
    expect(await rig.jobs()).toHaveLength(1)
    expect(await rig.enqueue('b').done).toBe('ok')
  })

  it('REPLAY-2: a later batch differs only if it decides otherwise itself', async () => {
    const first = await jobInLogAlone()
    for (const key of ['b', 'c']) expect(await rig.enqueue(key).done).toBe('ok')
    const { log } = rig.inner
    const read = log.read.bind(log)
    log.read = async function* (afterBatch) {
      for await (const record of read(afterBatch)) {
        const body = Uint8Array.from(record.body)
        // The digest behind the format: all later ones continue from the right one.
        if (record.batch === first) body[1] = (body[1] ?? 0) ^ 1
        yield { ...record, body }
      }
    }
    const { differences, to } = await acceptReplay(rig.inner, {
      ...{ nowMs: START, incarnation: SEED, isTrial: true },
    })
    log.read = read
    expect(to).toBe(first + 2)
    const batches = differences.map(({ batch }) => batch)
    // The recorded digest of the first one is wrong, so that the one behind it does not follow from it either.
    expect(batches).toEqual([first, first + 1])
  })

  it('REPLAY-2: changes nothing where nothing differs', async () => {
    await jobInLogAlone()
    const before = await rig.inner.tables.load()
    const accepted = await acceptReplay(rig.inner, { nowMs: START, incarnation: SEED })
    expect(accepted.differences).toEqual([])
    expect(accepted.commands).toBeGreaterThan(0)
    expect(await rig.inner.tables.load()).toEqual(before)
  })
})

it('BACKUP-5: the incarnation alone decides if two states with the same past give the same lease ids', async () => {
  const leaseIdUnder = async (incarnation: string): Promise<string> => {
    const store = new MemoryStore()
    const other = await Rig.open(store)
    await other.engine.close()
    const meta = { incarnation, installation_seed: `0x${'01'.repeat(32)}` }
    await store.tables.apply({ ...NO_ROWS, meta }, store.log.end.batch)
    await other.restart(0)
    const { leaseId } = await other.offered('a', await other.connect())
    await other.close()
    return leaseId
  }
  const [first, same, different] = ['07', '07', '08'].map((byte) => `0x${byte.repeat(32)}`)
  const id = await leaseIdUnder(first as string)
  expect(await leaseIdUnder(same as string)).toBe(id)
  expect(await leaseIdUnder(different as string)).not.toBe(id)
})
