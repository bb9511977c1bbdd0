/**
 * A life of an engine, in a process of its own, for `restart.ts`: `life.js fill|open|stop FILE [JOBS]`.
 */
import { writeSync } from 'node:fs'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { payloadNumber } from './payload.ts'

const BATCH = 1_000
const by = { caller: callerOf('bench') }

const [what, file = '', count] = process.argv.slice(2)
const policy = { queue: { max_depth: 2_000_000 } }
const engine = await openEngine({ store: openSqliteStore(file), policy })
if (what === 'open') {
  await engine.enqueueMany([request(-1)], by)
  say('answered')
} else {
  for (let n = 0; n < Number(count); n += BATCH) {
    await engine.enqueueMany(
      Array.from({ length: BATCH }, (_, i) => request(n + i)),
      by,
    )
  }
  say('filled')
}
if (what === 'stop') {
  const started = performance.now()
  await engine.close()
  say(`stopped ${(performance.now() - started) / 1_000}`)
}

function request(n: number): Readonly<Record<string, unknown>> {
  const { model, prompt, max_tokens } = payloadNumber(n)
  return { kind: 'ai', payload: { model, prompt: Buffer.from(prompt), max_tokens } }
}

function say(line: string): void {
  writeSync(1, `${line}\n`)
}
