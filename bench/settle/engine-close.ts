import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '@fairlead/core'
import { NO_ROWS } from '@fairlead/core/internal'
import { fundRows, openEngine, threadedClose } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { billedFund, EPOCH, EPOCH_MS, WRITTEN } from './epoch.ts'
import { type Held, LoopHold } from './loop-hold.ts'

/** Rows that are given to the tables at once, while the store is made. */
const ROWS = 10_000
/** The engine opens so long before the end of the epoch. */
const BEFORE_MS = 500

/** The longest time for which the engine's loop was held, and the time from the end of the epoch to its batch. */
export interface EngineClose {
  readonly held: Held
  readonly seconds: number
}

/** An engine on a file closes an epoch by itself, as a server does. */
export async function closeInEngine(): Promise<EngineClose> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  try {
    const path = join(folder, 'fund.db')
    await makeStore(path)
    const clock = clockFrom((EPOCH + 1) * EPOCH_MS - BEFORE_MS)
    const store = await openSqliteStore(path)
    const engine = await openEngine({ store, clock, computeClose: threadedClose })
    const settled = new Promise<void>((resolve) => {
      void engine.onEvent(({ type }) => {
        if (type === 'epochSettled') resolve()
      })
    })
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, BEFORE_MS / 2))
    const hold = new LoopHold()
    await settled
    const seconds = (clock.now() - (EPOCH + 1) * EPOCH_MS) / 1_000
    // With the rows of the batch on their way to the tables.
    await engine.fund.settledEpochs({ limit: 1 })
    const held = hold.stop()
    await engine.close()
    return { held, seconds }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A store whose epoch has all claims and is not over. */
async function makeStore(path: string): Promise<void> {
  const clock = clockFrom(EPOCH * EPOCH_MS)
  const policy = WRITTEN
  const engine = await openEngine({ store: openSqliteStore(path), clock, policy, preset: 'fund' })
  await engine.close()
  const store = await openSqliteStore(path)
  const { rows } = fundRows(billedFund())
  for (let at = 0; at < rows.length; at += ROWS) {
    const lanes = rows.slice(at, at + ROWS)
    await store.tables.apply({ ...NO_ROWS, lanes }, store.log.end.batch)
  }
  await store.close()
}

function clockFrom(startMs: number): Clock {
  const started = performance.now()
  const now = (): number => startMs + Math.floor(performance.now() - started)
  return {
    now,
    wakeAt: (at, wake) => {
      const timer = setTimeout(wake, Math.max(0, at - now()))
      return () => clearTimeout(timer)
    },
  }
}
