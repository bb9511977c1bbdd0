import { connect, type NodeClient } from '@fairlead/client'
import type { Options, Report } from '../bench.ts'
import { inTurns, medianRatio } from '../in-turns.ts'
import { CpuMeter } from '../queue/cpu.ts'
import { Rig } from '../rpc/rig.ts'
import { FAIRLEAD } from '../rpc/scenarios.ts'

const REPEATS = 5
const SECONDS = 5
const WARM_UP_MS = 2_000
const PAGES = 3
const WORKERS = 2
const SLOTS = 100
const IN_FLIGHT = 100
/** Seldom enough that none of them comes with each job. */
const TOPICS = ['policyChanged', 'queuePaused', 'queueResumed', 'providerStatus'] as const

/** Processor time of the server for a job, in turns with and without pages; the bar is on the ratio of neighbours. */
export async function costOfPages(report: Report, options: Options): Promise<void> {
  const { repeats = REPEATS, seconds = SECONDS } = options
  const { none, three } = await inTurns(report, {
    what: 'processor time of the server',
    measures: { none: () => cost(0, seconds), three: () => cost(PAGES, seconds) },
    repeats,
    warmUps: 0,
  })
  const row = (subject: string, values: number[]) =>
    report.measured({ case: 'processor time of the engine', subject, unit: 'µs/job', values })
  row('no page', none)
  row(`${PAGES} pages`, three)
  report.bar({
    bar: 'processor time with three pages, to none',
    reached: medianRatio(three, none),
    atMost: 1.05,
  })
}

/** Microseconds of the main thread of the server for each job that goes through it. */
async function cost(pages: number, seconds: number): Promise<number> {
  const rig = await Rig.open(FAIRLEAD.programs)
  const open: { readonly close: () => Promise<void> | void }[] = []
  try {
    let completed = 0
    await rig.work(WORKERS, SLOTS, (report) => {
      completed += report.completed
    })
    for (let i = 0; i < pages; i++) open.push(await openPage(rig.url))
    const requester = await FAIRLEAD.connect(rig.url)
    open.push(requester)
    let sent = 0
    const send = (until: number) =>
      Promise.all(
        Array.from({ length: IN_FLIGHT }, async () => {
          while (performance.now() < until) {
            await requester.enqueue(sent++)
          }
        }),
      )
    await send(performance.now() + WARM_UP_MS)
    const [meter, before] = [new CpuMeter(rig.serverPid), completed]
    await send(performance.now() + 1_000 * seconds)
    return meter.perJob(completed - before).mainCpu ?? Number.NaN
  } finally {
    for (const client of open) await client.close()
    await rig.close()
  }
}

/** A tab with the home page: what it asks for, again and again, on one socket. */
async function openPage(url: string): Promise<NodeClient> {
  const client = connect(url)
  await client.call('auth.whoami', {})
  const events = client.events({ topics: TOPICS })
  await events.ready()
  const poll = (everyMs: number, look: () => Promise<unknown>): void => {
    const timer = setInterval(() => {
      look().catch(() => clearInterval(timer))
    }, everyMs)
    timer.unref()
  }
  poll(1_000, () => client.call('stats.verdict', {}))
  poll(1_000, () => client.call('stats.get', {}))
  poll(1_000, () => client.call('stats.waiting', {}))
  poll(1_000, () => client.call('stats.fairness', {}))
  poll(2_000, () => client.call('stats.history', {}))
  return client
}
