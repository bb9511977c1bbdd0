import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Seed, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { startRedis } from '@fairlead/testkit/servers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { START } from '../src/conformance/limiter-conformance.ts'
import { PoolAudit } from './pool-audit.ts'
import { PoolProcess, type PoolProcessOptions } from './pool-process.ts'

/** An instance is killed, falls silent or leaves at each turn; `npm run test:long` takes more of them. */
const TURNS = process.env['LONG_TESTS'] ? 30 : 3

let folder: string
let server: Awaited<ReturnType<typeof startRedis>>
let processes: PoolProcess[]
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-processes-'))
  server = await startRedis({ folder, keeps: 'none' })
  processes = []
})
afterEach(async () => {
  await Promise.all(processes.map((one) => one.kill()))
  await server.stop()
  rmSync(folder, { recursive: true })
})

function spawn(options: Omit<PoolProcessOptions, 'url'>): PoolProcess {
  const one = new PoolProcess({ url: server.url, ...options })
  processes.push(one)
  return one
}

it('SLOT-6: two processes start 7 summaries a minute each, 14 in all; the 15th at the next minute, on the same model', async () => {
  const options = {
    speed: 0,
    // Near the end of a minute, so that neither can be thought silent while their clocks are moved.
    startMs: START + 50_000,
    models: {
      gpt: { tokensPerMinute: 500_000, requestsPerMinute: 500 },
      other: { requestsPerMinute: 500 },
    },
    jobTypes: {
      summary: { estimatedTokens: 10_000, ratio: { initial: 0.3, flexible: false } },
      // 7 of the one and 35 of the other leave 5,000 of 250,000 tokens over: too little for an 8th summary.
      chat: { estimatedTokens: 5_000 },
    },
  }
  const [a, b] = [spawn(options), spawn(options)]
  const advance = async (ms: number) => {
    await Promise.all([a.act('advance', { ms }), b.act('advance', { ms })])
  }
  for (const one of [a, b]) await one.until(() => one.instances > 0)
  await advance(50)
  for (const one of [a, b]) await one.until(() => one.instances === 2)
  await Promise.all([a, b].map((one) => one.act('start', { jobType: 'summary', count: 7 })))
  for (const one of [a, b]) await one.until(() => one.started.length === 7)

  await advance(50)
  await a.act('start', { jobType: 'summary', count: 1 })
  await advance(9_899)
  expect([a.started.length, b.started.length]).toEqual([7, 7])
  await advance(1)
  await a.until(() => a.started.length === 8)
  expect(a.started.at(-1)).toEqual({ model: 'gpt', atMs: START + 60_000 })
})

it('SLOT-5: no minute ever gets more than its limit, while instances join, leave, are killed and come back', async () => {
  const seed = 7
  const dice = new SeededDice(taggedHashHex('fairlead|pools', seed) as Seed)
  const limits = { tokensPerMinute: 30_000, requestsPerMinute: 510 }
  const options = {
    // A minute is two seconds, and who is silent for a quarter of that is dropped.
    speed: 30,
    startMs: Date.now(),
    models: { gpt: limits },
    jobTypes: { small: { estimatedTokens: 37 }, large: { estimatedTokens: 230 } },
  }
  const audit = new PoolAudit(server.url)
  await audit.begin()
  const join = (): PoolProcess => {
    const one = spawn(options)
    void one.act('load', { lanes: 12, jobTypes: ['small', 'large'] })
    return one
  }
  const live = [join(), join(), join()]
  for (const one of live) await one.until(() => one.instances > 0)
  // Some minute has to be used up, but for less than one job.
  const isUsedUp = () => audit.most.tokens > limits.tokensPerMinute - 230
  for (let i = 0; i < TURNS || audit.minutes.size < 4 || !isUsedUp(); i++) {
    const starts = audit.starts + 20 + dice.draw(60)
    await audit.until(() => audit.starts >= starts)
    const at = dice.draw(live.length)
    const one = live[at] as PoolProcess
    const gone = audit.gone + 1
    if (i % 3 === 0) await one.kill()
    // Silent for longer than it may be: it is dropped, and comes back.
    if (i % 3 === 1) one.freeze()
    if (i % 3 === 2) await one.leave()
    await audit.until(() => audit.gone >= gone)
    if (i % 3 === 1) one.thaw()
    else live[at] = join()
  }
  await Promise.all(live.map((one) => one.kill()))
  await audit.end()
  expect(audit.most.tokens).toBeLessThanOrEqual(limits.tokensPerMinute)
  expect(audit.most.requests).toBeLessThanOrEqual(limits.requestsPerMinute)
}, 600_000)

it('SLOT-14: what a killed process had in flight is back once it was silent for long enough', async () => {
  const options = {
    // 15 s are one and a half.
    speed: 10,
    startMs: Date.now(),
    models: { gpt: { maxConcurrentRequests: 2 } },
    jobTypes: { chat: { estimatedTokens: 1, maxWaitMs: 600_000 } },
  }
  const [a, b] = [spawn(options), spawn(options)]
  for (const one of [a, b]) await one.until(() => one.instances === 2)
  await a.act('start', { jobType: 'chat', count: 1, isEndless: true })
  await b.act('start', { jobType: 'chat', count: 1, isEndless: true })
  for (const one of [a, b]) await one.until(() => one.started.length === 1)
  await b.act('start', { jobType: 'chat', count: 1, isEndless: true })
  expect(b.started).toHaveLength(1)
  await a.kill()
  await b.until(() => b.started.length === 2)
})
