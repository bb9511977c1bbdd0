import type { StoreReads } from '@fairlead/core/internal'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MemoryTables } from '../memory/memory-tables.ts'
import { ANY_IDS, ANY_TX, anyBatch, anyFilter } from './any-batch.ts'
import type { Subject } from './tables-conformance.ts'

/** `npm run test:long` takes more of them. */
const RUNS = process.env['LONG_TESTS'] ? 60 : 8
const BATCHES_MAX = 8
const FILTERS = 3

export function againstModel({ openAnother }: Pick<Subject, 'openAnother'>): void {
  it('STORE-2: any run of batches leaves what plain maps would hold, restarts or not', async () => {
    const property = fc.asyncProperty(fc.gen(), async (draw) => {
      const opened = await openAnother()
      try {
        let { tables } = opened
        const model = new MemoryTables()
        let before = await allOf(tables.read)
        const batches = draw(fc.integer, { min: 1, max: BATCHES_MAX })
        for (let n = 0; n < batches; n++) {
          const batch = await anyBatch(draw, model, n)
          const [expected, found] = await Promise.allSettled([
            model.apply(batch, n + 1),
            tables.apply(batch, n + 1),
          ])
          expect(found.status).toBe(expected.status)
          if (draw(fc.nat, { max: 4 }) === 0) tables = await opened.reopen()
          const known = await model.read.jobs({ afterSeq: 0, limit: 1_000 })
          for (let i = 0; i < FILTERS; i++) {
            const filter = anyFilter(draw, known)
            expect(await tables.read.jobs(filter)).toEqual(await model.read.jobs(filter))
          }
          const after = await allOf(tables.read)
          expect(after).toEqual(await allOf(model.read))
          expect(await tables.load()).toEqual(await model.load())
          if (found.status === 'rejected') expect(after).toEqual(before)
          before = after
        }
      } finally {
        await opened.remove()
      }
    })
    // Smaller cases are not looked for: the seed repeats this one, and draws do not shrink well.
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
    // Hundreds of files are opened; on a busy machine that takes its time.
  }, 300_000)
}

/** All rows, and what their list does not tell: who belongs to whom. */
async function allOf(read: StoreReads) {
  const seqs = (await read.jobs({ afterSeq: 0, limit: 1_000 })).map(({ seq }) => seq)
  return {
    rows: await read.everything(),
    timelines: await Promise.all(ANY_IDS.map((id) => read.timeline(id))),
    results: await Promise.all(ANY_IDS.map((id) => read.result(id))),
    leases: await Promise.all(ANY_IDS.map((id) => read.leases(id))),
    failures: await Promise.all(ANY_IDS.map((id) => read.failures(id))),
    payloads: await read.payloads(seqs),
    jobsByTx: await read.jobsByTx(ANY_TX),
    assignments: await read.assignmentsSince(0),
  }
}
