import { FairleadError } from '@fairlead/core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { recordsOf, sampleRecord } from '../src/conformance/sample-records.ts'
import { type FileLog, openLogFiles } from '../src/log-files/open-log.ts'
import { PowerDisk } from './power-disk.ts'
import { SMALL, STORE_ID } from './temp-log.ts'

type Act =
  | { readonly kind: 'append'; readonly sizes: readonly number[] }
  /** How far behind the end. */
  | { readonly kind: 'trim'; readonly behind: number }
  | { readonly kind: 'scrub' | 'close' | 'kill' }
  /** After so many more syncs. */
  | { readonly kind: 'fail' | 'cut'; readonly after: number }

const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      sizes: fc.array(fc.oneof(fc.nat(300), fc.nat(3_000), fc.nat(20_000)), {
        minLength: 1,
        maxLength: 5,
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('trim' as const), behind: fc.nat(12) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('scrub', 'close', 'kill') }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('fail', 'cut'), after: fc.nat(5) }),
  },
)

const RUNS = process.env['LONG_TESTS'] ? 20_000 : 400

it('LOG-13: after a power cut at any moment, every confirmed record is there, and the log opens', async () => {
  const acts = fc.array(anyAct, { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(acts, fc.nat(), fc.boolean(), async (given, seed, isRelaxed) => {
      await new PoweredLog(seed, isRelaxed ? 'relaxed' : 'full').carryOut(given)
    }),
    { numRuns: RUNS },
  )
})

it('LOG-13: a trim that was not synced before its process died does not make the log look damaged', async () => {
  // What was not synced is gone after a power cut.
  const disk = new PowerDisk(() => false)
  const open = async (createAfter: number | null) => {
    const options = { storeId: STORE_ID, createAfter, segmentBytes: SMALL }
    return (await openLogFiles('/state.db', options, disk)).log
  }
  const first = await open(0)
  for (const n of [1, 2, 3]) await first.append(sampleRecord(n, 5_000))
  disk.failAfter = 0
  await expect(first.trim(1)).rejects.toThrow()
  // The next process uses the file of the trimmed record again.
  const second = await open(null)
  await second.append(sampleRecord(4, 5_000))
  disk.restart()
  const third = await open(null)
  expect(await recordsOf(third, 1)).toEqual([2, 3, 4].map((n) => sampleRecord(n, 5_000)))
})

it('LOG-11: a scrub behind a trim that failed leaves the number of the log after a power cut', async () => {
  let isStored = false
  const disk = new PowerDisk(() => isStored)
  const options = { storeId: STORE_ID, createAfter: 0, segmentBytes: SMALL }
  const { log } = await openLogFiles('/state.db', options, disk)
  await log.append(sampleRecord(1, 100))
  disk.failAfter = 0
  await expect(log.trim(1)).rejects.toThrow()
  // Of what is written from here on, all reaches the disk.
  isStored = true
  disk.cutAfter = 0
  await log.scrub().catch(() => {})
  disk.restart()
  const opened = await openLogFiles('/state.db', { ...options, createAfter: null }, disk)
  expect(opened.report.end.batch).toBe(1)
})

/** A log that somebody uses while the power goes now and then. */
class PoweredLog {
  readonly #disk: PowerDisk
  readonly #durability: 'full' | 'relaxed'
  #log: FileLog | null = null
  #sizes: number[] = []
  #confirmed = 0
  #trimmed = 0

  constructor(seed: number, durability: 'full' | 'relaxed') {
    this.#durability = durability
    let state = seed
    this.#disk = new PowerDisk(() => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state > 2 ** 31
    })
  }

  async carryOut(acts: readonly Act[]): Promise<void> {
    await this.#open()
    for (const act of acts) await this.#act(act)
    await this.#restart()
  }

  async #act(act: Act): Promise<void> {
    const log = this.#log as FileLog
    if (act.kind === 'append') await this.#append(act.sizes)
    if (act.kind === 'trim') {
      const upTo = Math.max(this.#trimmed, this.#confirmed - act.behind)
      this.#trimmed = upTo
      await this.#tried(() => log.trim(upTo))
    }
    if (act.kind === 'scrub') await this.#tried(() => log.scrub())
    if (act.kind === 'fail') this.#disk.failAfter = act.after
    if (act.kind === 'cut') this.#disk.cutAfter = act.after
    if (act.kind === 'close') {
      await this.#tried(() => log.close())
      await this.#open()
    }
    // The system goes on, and has what was written.
    if (act.kind === 'kill') await this.#open()
  }

  async #restart(): Promise<void> {
    this.#disk.restart()
    await this.#open()
  }

  async #open(): Promise<void> {
    try {
      await this.#openOnce()
    } catch (error) {
      if (!isIoError(error)) throw error
      this.#disk.restart()
      await this.#openOnce()
    }
  }

  /** Gives again what failed, if need be after a restart. */
  async #append(sizes: readonly number[]): Promise<void> {
    this.#sizes = [...this.#sizes.slice(0, this.#confirmed), ...sizes]
    const last = this.#confirmed + sizes.length
    const numbers = sizes.map((_, i) => this.#confirmed + 1 + i)
    const outcomes = await Promise.allSettled(numbers.map((n) => this.#give(n)))
    this.#confirmed += outcomes.filter(({ status }) => status === 'fulfilled').length
    for (let tries = 0; this.#confirmed < last; tries++) {
      try {
        await this.#give(this.#confirmed + 1)
        this.#confirmed++
      } catch (error) {
        if (!isIoError(error) || tries > 20) throw error
        if (tries > 1) await this.#restart()
      }
    }
  }

  #give(number: number): Promise<void> {
    const record = sampleRecord(number, this.#sizes[number - 1])
    return (this.#log as FileLog).append(record)
  }

  async #tried(act: () => Promise<void>): Promise<void> {
    await act().catch((error) => {
      if (!isIoError(error)) throw error
    })
  }

  async #openOnce(): Promise<void> {
    const createAfter = this.#confirmed === 0 ? 0 : null
    const options = {
      storeId: STORE_ID,
      createAfter,
      segmentBytes: SMALL,
      durability: this.#durability,
    }
    const { log, report } = await openLogFiles('/state.db', options, this.#disk)
    this.#log = log
    const end = report.end.batch
    if (this.#durability === 'full') expect(end).toBeGreaterThanOrEqual(this.#confirmed)
    expect(report.first - 1).toBeLessThanOrEqual(this.#trimmed)
    const records = await recordsOf(log, report.first - 1)
    expect(records.map(({ batch }) => batch)).toEqual(
      Array.from({ length: end - report.first + 1 }, (_, i) => report.first + i),
    )
    for (const { batch, body } of records) {
      const expected = sampleRecord(batch, this.#sizes[batch - 1])
      expect(Buffer.compare(body, expected.body)).toBe(0)
    }
    this.#confirmed = end
    this.#trimmed = Math.max(this.#trimmed, report.first - 1)
  }
}

function isIoError(error: unknown): boolean {
  return error instanceof FairleadError && error.details['reason'] === 'io'
}
