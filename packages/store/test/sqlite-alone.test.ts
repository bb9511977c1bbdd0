import { describe, expect, it, onTestFinished } from 'vitest'
import {
  batchOf,
  newJob,
  sampleEntry,
  sampleJob,
  sampleLease,
} from '../src/conformance/sample-rows.ts'
import { openDatabase } from '../src/sqlite/driver.ts'
import { LogEnd } from '../src/sqlite/log-end.ts'
import { openSqliteStore } from '../src/sqlite/sqlite-store.ts'
import { makeOlder } from './older-file.ts'
import { imageOf, OpenFile } from './open-file.ts'
import { tempPath } from './temp-store.ts'

/** A batch of its own for each number. */
function batch(n: number) {
  return batchOf({
    newJobs: [newJob(sampleJob(n), Uint8Array.of(n))],
    journal: [sampleEntry(n, { jobSeq: n })],
  })
}

const BAD = batchOf({ newLeases: [sampleLease(99)] })

describe('a batch that its giver writes', () => {
  it('STORE-17: is refused when it could not be written, and the next takes its place', () => {
    const opened = new OpenFile()
    expect(opened.commit(batch(1))).toBe(true)
    expect(opened.commitUnwritten(batch(2))).toBe(false)
    expect(opened.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject([{ seq: 1 }])
    expect(opened.commitGiven(batch(2))).toBe(true)
    expect(opened.commit(batch(3))).toBe(true)
    const seqs = [{ seq: 1 }, { seq: 2 }, { seq: 3 }]
    expect(opened.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject(seqs)
    const after = new OpenFile(imageOf(opened.path))
    expect(after.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject(seqs)
  })

  it('STORE-17: is gone from the log once it was refused', () => {
    const opened = new OpenFile()
    opened.commit(batch(1))
    expect(opened.commitGiven(BAD)).toBe(false)
    // Even where nobody looks at what is found there.
    const image = imageOf(opened.path)
    const db = openDatabase(image)
    db.exec('UPDATE store SET checked = NULL')
    db.close()
    expect(new OpenFile(image).load()).toEqual(opened.load())
    expect(opened.commitGiven(batch(2))).toBe(true)
  })

  it('STORE-17: does not go into the tables, or from the log, with those before it', () => {
    const opened = new OpenFile()
    opened.commit(batch(1))
    const carryAll = () => opened.file.checkpoint()
    expect(opened.commitGiven(batch(2), carryAll)).toBe(true)
    const seqs = [{ seq: 1 }, { seq: 2 }]
    const after = new OpenFile(imageOf(opened.path))
    expect(after.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject(seqs)
    expect(opened.commitGiven(BAD, carryAll)).toBe(false)
    expect(opened.read('jobs', { afterSeq: 0, limit: 9 })).toMatchObject(seqs)
  })

  it('STORE-17: a log of a version that looked at every batch first is merged as it was', () => {
    const opened = new OpenFile(undefined, { waitMs: 1e9 })
    opened.commit(batch(1))
    opened.file.checkpoint()
    opened.commit(batch(2))
    const image = imageOf(opened.path)
    makeOlder(image, 1)
    const after = new OpenFile(image)
    expect(after.load()).toEqual(opened.load())
    expect(after.read('everything')).toEqual(opened.read('everything'))
  })
})

it('STORE-17: commits one by one are all there, with reads and a checkpoint between them', async () => {
  const path = tempPath()
  const store = await openSqliteStore(path)
  onTestFinished(() => store.close())
  const seqs: { seq: number }[] = []
  for (let n = 1; n <= 60; n++) {
    await store.commit(batch(n))
    seqs.push({ seq: n })
    if (n % 7 === 0) {
      expect(await store.read.jobs({ afterSeq: 0, limit: 99 })).toMatchObject(seqs)
      await expect(store.commit(BAD)).rejects.toMatchObject({
        details: { reason: 'constraint' },
      })
    }
    if (n % 20 === 0) await store.checkpoint()
    // The next is given before this one is answered.
    if (n % 11 === 0) {
      const [one, other] = [store.commit(batch(n + 1)), store.commit(batch(n + 2))]
      await Promise.all([one, other])
      seqs.push({ seq: ++n }, { seq: ++n })
    }
  }
  const after = new OpenFile(imageOf(path))
  expect(after.read('jobs', { afterSeq: 0, limit: 99 })).toMatchObject(seqs)
})

describe('the end of a log', () => {
  it('STORE-17: is held by one at a time', () => {
    const end = new LogEnd()
    const same = new LogEnd(end.memory)
    expect(end.tryHold()).toBe(true)
    expect(same.tryHold()).toBe(false)
    end.letGo()
    expect(same.holding(() => end.tryHold())).toBe(false)
    expect(end.tryHold()).toBe(true)
  })

  it('STORE-17: what was said of a batch that could not be written is not taken for a word on the next', () => {
    const end = new LogEnd()
    end.give(Uint8Array.of(1), 7)
    end.noteChecked(7)
    expect(end.awaitChecked(7, 1)).toBe(true)
    end.give(Uint8Array.of(2), 7)
    expect(end.awaitChecked(7, 1)).toBe(false)
    expect(new LogEnd(end.memory).given()).toEqual(Uint8Array.of(2))
  })

  it('STORE-17: tells within a time whether a batch was looked at', () => {
    const end = new LogEnd()
    expect(end.awaitChecked(2 ** 31 + 5, 1)).toBe(false)
    new LogEnd(end.memory).noteChecked(2 ** 31 + 5)
    expect(end.awaitChecked(2 ** 31 + 5, 1)).toBe(true)
    expect(end.awaitChecked(2 ** 31 + 6, 1)).toBe(false)
  })
})
