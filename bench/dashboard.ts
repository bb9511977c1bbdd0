import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connect, type NodeClient } from '@fairlead/client'
import { type Engine, openEngine } from '@fairlead/engine'
import { MeteredStore, startServer } from '@fairlead/server'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { median, type Options, type Report } from './bench.ts'
import { costOfPages } from './dashboard/cost-of-pages.ts'
import { screens } from './dashboard/screens.ts'
import { callerNumber } from './fixtures.ts'
import { chosen } from './queue/chosen.ts'

export const name = 'dashboard'
export const question =
  'How long do the screens of the dashboard take with a long queue, and what do open pages cost a job?'

const JOBS = 1_000_000
const TENANTS = 10_000
const NAMES = 20
const PROVIDERS = 20
const REPEATS = 5
/** Longer than any answer is kept. */
const FORGOTTEN_MS = 5_100
/** Requests in one call. */
const BATCH = 1_000
const SCREEN_MS = 200

export async function run(report: Report, options: Options): Promise<void> {
  const cases = chosen(options.only, Object.keys(CASES) as (keyof typeof CASES)[], 'case')
  for (const one of cases) await CASES[one](report, options)
}

const CASES = {
  /** Processor time of each call of each screen, when nothing is kept of the one before. */
  async screens(report: Report, { jobs = JOBS, repeats = REPEATS }: Options): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-dashboard-'))
    const store = new MeteredStore(await openSqliteStore(join(folder, 'fairlead.db')))
    const engine = await openEngine({ store, policy: policyFor(jobs) })
    const server = await startServer({ engine, store, listen: { host: '127.0.0.1', port: 0 } })
    const client = connect(server.url)
    try {
      await fill(engine, client, jobs, report)
      const what = `${jobs.toLocaleString('en')} waiting jobs, ${TENANTS.toLocaleString('en')} tenants`
      const times = new Map<string, number[]>()
      for (let i = 0; i < repeats; i++) {
        report.progress(`${what}: look ${i + 1} of ${repeats}`)
        await pause(FORGOTTEN_MS)
        for (const [screen, look] of Object.entries(await screens(client))) {
          // Processor time of the process, so that a busy machine counts less. The server does nothing else meanwhile.
          const begun = process.cpuUsage()
          await look()
          const { user, system } = process.cpuUsage(begun)
          const taken = times.get(screen) ?? []
          taken.push((user + system) / 1_000)
          times.set(screen, taken)
        }
      }
      let slowest = 0
      for (const [screen, values] of times) {
        report.measured({ case: what, subject: screen, unit: 'ms', values })
        slowest = Math.max(slowest, median(values))
      }
      report.bar({
        bar: 'ms of processor of the slowest call',
        reached: slowest,
        atMost: SCREEN_MS,
      })
    } finally {
      await client.close()
      await server.close(1_000)
      await engine.close()
      rmSync(folder, { recursive: true })
    }
  },

  /** Processor time of the server for each job, with three pages open and with none. */
  cost: costOfPages,
}

/** Each tenant has a limit of its own, so that no two tenants are alike. */
function policyFor(jobs: number): object {
  return {
    queue: { max_depth: 2 * jobs },
    match: { tenant_weights: { [callerNumber(1)]: 4 } },
    admit: [{ kind: 'task', requirements: [{ key: 'calls:{caller}', amount: 1 }] }],
  }
}

async function fill(
  engine: Engine,
  client: NodeClient,
  jobs: number,
  report: Report,
): Promise<void> {
  const defined: Promise<unknown>[] = []
  for (let n = 0; n < TENANTS; n++) {
    const key = `calls:${callerNumber(n)}`
    const limit = { key, kind: 'rolling', capacity: 1_000, window_seconds: 60 } as const
    defined.push(client.call('limits.define', { limit }))
    if (defined.length === BATCH) await Promise.all(defined.splice(0))
  }
  for (let n = 0; n < PROVIDERS; n++) {
    const provider_id = `provider:p${n}`
    await client.call('aicf.registerProvider', { provider_id, kinds: ['task'], models: ['n0'] })
  }
  const perTenant = Math.floor(jobs / TENANTS)
  const step = Math.max(1, Math.floor(BATCH / perTenant))
  for (let tenant = 0; tenant < TENANTS; tenant += step) {
    const group = Array.from({ length: Math.min(step, TENANTS - tenant) }, (_, i) => tenant + i)
    await Promise.all(group.map((n) => enqueueOf(engine, n, perTenant)))
    if (tenant % 1_000 === 0) report.progress(`${(tenant * perTenant).toLocaleString('en')} jobs`)
  }
  await engine.checkpoint()
}

async function enqueueOf(engine: Engine, tenant: number, count: number): Promise<void> {
  const requests = Array.from({ length: count }, (_, i) => {
    const n = tenant * count + i
    const later = i % 10 === 9 ? { delay_ms: 3_600_000 } : {}
    return { kind: 'task', payload: { name: `n${n % NAMES}`, args: { n } }, ...later }
  })
  const answers = await engine.enqueueMany(requests, { caller: callerNumber(tenant) })
  const refused = answers.find(({ status }) => status === 'rejected')
  if (refused?.status === 'rejected') throw refused.reason
}
