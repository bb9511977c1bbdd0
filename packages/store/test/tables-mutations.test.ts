import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { JobId, LeaseId } from '@fairlead/core'
import type { Snapshot, StoreReads } from '@fairlead/core/internal'
import { expect, it } from 'vitest'
import { callerOf, jobIdOf } from '../src/conformance/sample-rows.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import {
  applySamples,
  filesOf,
  imageOf,
  JOBS,
  modelOf,
  opened,
  QUIET,
  replay,
} from './sample-store.ts'
import { tempPath } from './temp-store.ts'

/*
 * Every file of a store is damaged in many ways. A store that is opened afterwards and replayed has to have everything,
 * or it refuses: at its opening, or at the read that meets the damage. To miss something silently is a loss.
 */
const BATCHES = 6
const PAGE = 4_096

/** A store as a killed process leaves it, the same store long before, and after it was closed in order. */
async function images() {
  const path = tempPath()
  const store = await opened(path)
  await applySamples(store, 1, 2)
  await store.tables.sync()
  await applySamples(store, 3, 3)
  await store.tables.commit()
  const old = imageOf(path)
  await applySamples(store, 4, 4)
  await store.tables.sync()
  await store.log.trim(3)
  await applySamples(store, 5, 5)
  await store.tables.commit()
  await applySamples(store, 6, BATCHES)
  const killed = imageOf(path)
  await store.close()
  return { killed, old, closed: imageOf(path) }
}

interface Mutation {
  readonly what: string
  /** The new content; null removes the file. */
  readonly change: (content: Buffer) => Buffer | null
}

/** Damages of whole files, and of each page. */
function mutationsOf(content: Buffer, old: Buffer | null): Mutation[] {
  const list: Mutation[] = [
    { what: 'removed', change: () => null },
    { what: 'emptied', change: () => Buffer.alloc(0) },
    { what: 'zeroed', change: ({ length }) => Buffer.alloc(length) },
    { what: 'as long before', change: () => old },
  ]
  for (const part of [0.1, 0.5, 0.9]) {
    const bytes = Math.floor(part * content.length)
    list.push({ what: `cut to ${bytes}`, change: (all) => all.subarray(0, bytes) })
  }
  for (let at = 0; at < content.length; at += PAGE) {
    // A page that is empty has nothing to lose.
    if (content.subarray(at, at + PAGE).every((byte) => byte === 0)) continue
    list.push({
      what: `zeros at ${at}`,
      change: (all) => all.fill(0, at, Math.min(all.length, at + PAGE)),
    })
    const rest = content.subarray(0, at + PAGE / 2)
    if (at % (4 * PAGE) === 0) list.push({ what: `cut to ${rest.length}`, change: () => rest })
  }
  return list
}

/** Bits all over the file, the same ones in every run. `npm run test:long` takes more of them. */
const FLIP_EVERY = process.env['LONG_TESTS'] ? 503 : 4_001

function flipsOf(content: Buffer): Mutation[] {
  const places: number[] = []
  for (let at = 13; at < content.length; at += FLIP_EVERY) if (content[at] !== 0) places.push(at)
  return places.map((at) => ({
    what: `bit at ${at}`,
    change: (all) => {
      all[at] = (all[at] as number) ^ (1 << (at % 8))
      return all
    },
  }))
}

/** All rows, and all ways to find them. Throws if a read does. */
async function contentOf({ read, load }: Readable, model: StoreReads) {
  const jobs = await model.jobs({ afterSeq: 0, limit: 1_000 })
  // Those of deleted jobs, too.
  const ids = Array.from({ length: BATCHES * JOBS }, (_, i) => jobIdOf(i + 1))
  const leases = (await Promise.all(ids.map((id) => model.leases(id)))).flat()
  const heights = Array.from({ length: BATCHES }, (_, i) => i + 1)
  return {
    loaded: await load(),
    rows: await read.everything(),
    jobs: await Promise.all(ids.map((id: JobId) => read.job(id))),
    leases: await Promise.all(leases.map(({ id }: { id: LeaseId }) => read.lease(id))),
    keys: (await read.jobsByTx(jobs)).map((job) => job?.id),
    results: await Promise.all(ids.map((id) => read.result(id))),
    failures: await Promise.all(ids.map((id) => read.failures(id))),
    leasesOf: await Promise.all(ids.map((id) => read.leases(id))),
    payloads: await read.payloads(jobs.map(({ seq }) => seq)),
    rounds: await Promise.all(heights.map((height) => read.round(height, 'ai'))),
    assigned: await read.assignmentsSince(0),
    ofCaller: await read.jobs({ afterSeq: 0, caller: callerOf(1), limit: 1_000 }),
    timelines: await Promise.all(ids.map((id) => read.timeline(id))),
    live: (await read.jobs({ afterSeq: 0, status: 'QUEUED', limit: 1_000 })).map(({ id }) => id),
  }
}

interface Readable {
  readonly read: StoreReads
  readonly load: () => Promise<Snapshot>
}

type Content = Awaited<ReturnType<typeof contentOf>>
/** `torn`: the newest record of the log, which nobody had synced here, is told as one that a crash tore. */
type Outcome = 'whole' | 'told' | 'torn' | 'changed' | 'lost'

/** Opens a damaged store and replays its log, as an engine does. */
async function outcomeOf(path: string, model: StoreReads, whole: Content): Promise<Outcome> {
  // As a server opens it: with `relaxed` an old log is what a power cut leaves.
  const store = await openSqliteStore(path, {}, QUIET).catch(() => null)
  if (store === null) return 'told'
  try {
    const { tornBytes, logBatch } = store.report
    if (tornBytes > 0 && logBatch === BATCHES - 1) return 'torn'
    await replay(store)
    const found = await contentOf({ read: store.read, load: () => store.tables.load() }, model)
    if (isDeepStrictEqual(found, whole)) return 'whole'
    return isDeepStrictEqual(shapeOf(found), shapeOf(whole)) ? 'changed' : 'lost'
  } catch {
    return 'told'
  } finally {
    await store.close().catch(() => {})
  }
}

/** How many rows each table has. */
function shapeOf({ rows }: Content): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const [table] of rows) counts.set(table, (counts.get(table) ?? 0) + 1)
  return counts
}

async function outcomes(
  image: string,
  old: string,
  mutationsIn: (content: Buffer, old: Buffer | null) => Mutation[],
): Promise<[Outcome, string][]> {
  const tables = await modelOf(BATCHES)
  const model = tables.read
  const whole = await contentOf({ read: model, load: () => tables.load() }, model)
  const list: [Outcome, string][] = []
  for (const name of filesOf(image)) {
    const end = name.slice(basename(image).length)
    const content = readFileSync(join(dirname(image), name))
    const before = existsSync(old + end) ? readFileSync(old + end) : null
    for (const { what, change } of mutationsIn(content, before)) {
      const path = imageOf(image)
      const changed = change(Buffer.from(content))
      if (changed === null) rmSync(path + end)
      else writeFileSync(path + end, changed)
      list.push([await outcomeOf(path, model, whole), `${end || 'tables'}: ${what}`])
      rmSync(dirname(path), { recursive: true, force: true })
    }
  }
  return list
}

function ofKind(list: readonly [Outcome, string][], ...kinds: Outcome[]): string[] {
  return list.filter(([outcome]) => kinds.includes(outcome)).map(([, what]) => what)
}

it('STORE-13: nothing is lost silently after a kill, whichever file or page is damaged', async () => {
  const { killed, old } = await images()
  const list = await outcomes(killed, old, mutationsOf)
  expect(ofKind(list, 'lost', 'changed')).toEqual([])
})

it('STORE-13: nothing is lost silently after a clean close, whichever file or page is damaged', async () => {
  const { closed, old } = await images()
  const list = await outcomes(closed, old, mutationsOf)
  expect(ofKind(list, 'lost', 'changed')).toEqual([])
})

it('STORE-21: no bit that changes in any file passes silently after a kill', async () => {
  const { killed, old } = await images()
  const list = await outcomes(killed, old, flipsOf)
  expect(ofKind(list, 'lost', 'changed')).toEqual([])
})

it('STORE-21: no bit that changes in any file passes silently after a clean close', async () => {
  const { closed, old } = await images()
  const list = await outcomes(closed, old, flipsOf)
  expect(ofKind(list, 'lost', 'changed')).toEqual([])
})
