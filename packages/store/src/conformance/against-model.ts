import type { StoreReads } from '@fairlead/core/internal'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MemoryStore } from '../memory/memory-store.ts'
import { ANY_IDS, ANY_TX, anyBatch, anyFilter } from './any-batch.ts'
import type { Subject } from './store-conformance.ts'

/** `npm run test:long` takes more of them. */
const RUNS = process.env['LONG_TESTS'] ? 60 : 8
const BATCHES_MAX = 8
const FILTERS = 3

export function againstModel({ openAnother }: Subject): void {
  it('STORE-2: any run of batches leaves what plain maps would hold, restarts or not', async () => {
    const property = fc.asyncProperty(fc.gen(), async (draw) => {
      const opened = await openAnother()
      try {
        let { store } = opened
        const model = new MemoryStore()
        let before = await allOf(store.read)
        const batches = draw(fc.integer, { min: 1, max: BATCHES_MAX })
        for (let n = 0; n < batches; n++) {
          const batch = await anyBatch(draw, model, n)
          const [expected, found] = await Promise.allSettled([
            model.commit(batch),
            store.commit(batch),
          ])
          expect(found.status).toBe(expected.status)
          if (draw(fc.nat, { max: 4 }) === 0) store = await opened.reopen()
          const known = await model.read.jobs({ afterSeq: 0, limit: 1_000 })
          for (let i = 0; i < FILTERS; i++) {
            const filter = anyFilter(draw, known)
            expect(await store.read.jobs(filter)).toEqual(await model.read.jobs(filter))
          }
          const after = await allOf(store.read)
          expect(after).toEqual(await allOf(model.read))
          expect(await store.load()).toEqual(await model.load())
          if (found.status === 'rejected') expect(after).toEqual(before)
          before = after
        }
      } finally {
        await opened.remove()
      }
    })
    // Smaller cases are not looked for: the seed repeats this one, and draws do not shrink well.
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
    // Hundreds of stores are opened; on a busy machine that takes its time.
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
