import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient } from '@fairlead/client'
import type { NewToken, TokenFile } from '@fairlead/server'
import { EXIT } from '../exit-codes.ts'
import { dashboardLine } from '../serve/dashboard-folder.ts'
import { type Serving, startServing } from '../serve/start-serving.ts'
import { progressBar } from '../terminal/progress-bar.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { untilSignal } from '../terminal/until-signal.ts'
import { openTokens } from '../tokens.ts'
import { demoConfig } from './demo-config.ts'
import { LIVE_POLICY, LIVE_PROVIDERS, LIVE_TENANTS, type LiveProvider } from './live-cast.ts'
import { type LiveJob, liveJob, liveJobs, scarceJob } from './live-jobs.ts'
import { defineLimits, scarceRequests } from './live-limits.ts'
import { LiveOpening } from './live-opening.ts'
import { liveFigures, liveReport } from './live-report.ts'
import { OPENING } from './opening-cast.ts'
import { ProviderProcesses } from './provider-processes.ts'
import { Tally } from './tally.ts'

export interface LiveOptions {
  /** Where the store goes; a folder that is removed afterwards if left out. */
  readonly dir?: string | undefined
  readonly port: number
  readonly perKind: number
  /** End after the summary. */
  readonly isBrief: boolean
  readonly isJson: boolean
  readonly terminal: Terminal
}

const TRICKLE_MS = 500
/** One in so many times, many jobs of the scarce model come at once. */
const RUSH_EVERY = 40
/** Enough for a slow machine; then whatever is missing counts as wrong. */
const PATIENCE_MS = 180_000

/** The demo: a server, providers in processes of their own, and jobs of several tenants. */
export async function runLiveDemo(options: LiveOptions): Promise<number> {
  const { terminal } = options
  const folder = options.dir ?? mkdtempSync(join(tmpdir(), 'fairlead-demo-'))
  mkdirSync(folder, { recursive: true })
  const config = demoConfig(folder, options.port)
  const tokens = openTokens(config)
  const stop = untilSignal()
  terminal.note(`Starting a server on ${config.settings.store.path} …`)
  const serving = await startServing({ config, tokens, log: 'silent', policy: LIVE_POLICY })
  const demo = new LiveDemo({ serving, tokens, terminal, signal: stop.signal })
  try {
    return await demo.run(options, stop.done)
  } finally {
    terminal.note('Stopping …')
    await demo.close()
    await serving.close()
    if (options.dir === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

class LiveDemo {
  readonly #serving: Serving
  readonly #terminal: Terminal
  readonly #signal: AbortSignal
  readonly #tally = new Tally()
  readonly #tenants: ReadonlyMap<string, NodeClient>
  readonly #admin: NodeClient
  readonly #adminToken: string
  readonly #providers: ProviderProcesses<LiveProvider>
  readonly #opening: LiveOpening
  readonly #signupToken: string

  constructor(parts: {
    readonly serving: Serving
    readonly tokens: TokenFile
    readonly terminal: Terminal
    readonly signal: AbortSignal
  }) {
    const { serving, tokens, terminal, signal } = parts
    const tokenFor = (wanted: NewToken): string => tokens.create(wanted).token
    this.#serving = serving
    this.#terminal = terminal
    this.#signal = signal
    this.#adminToken = tokenFor({ role: 'admin', subject: 'demo' })
    this.#admin = connect(serving.url, { token: this.#adminToken })
    this.#opening = new LiveOpening(this.#admin)
    this.#signupToken = tokenFor({
      role: 'provider',
      subject: 'provider:signup',
      scope: { kinds: ['registration'], platforms: ['*'] },
    })
    this.#tenants = new Map(
      LIVE_TENANTS.map(({ name, tier }) => {
        const token = tokenFor({ role: 'requester', subject: name, tier })
        return [name, connect(serving.url, { token })]
      }),
    )
    const byName = new Map(
      LIVE_PROVIDERS.map(({ name }) => {
        return [name, tokenFor({ role: 'provider', subject: `provider:${name}` })]
      }),
    )
    this.#providers = new ProviderProcesses({
      program: new URL('./provider-process.js', import.meta.url),
      ordersOf: (provider) => ({
        url: serving.url,
        token: byName.get(provider.name) ?? '',
        provider,
      }),
    })
  }

  async run(options: LiveOptions, stopped: Promise<void>): Promise<number> {
    const { perKind, isBrief, isJson } = options
    this.#tellPage()
    const { out, note, progress, colors } = this.#terminal
    const events = this.#admin.events()
    await events.ready()
    void this.#listen(events)
    await defineLimits(this.#admin, perKind)
    for (const provider of LIVE_PROVIDERS) this.#providers.start(provider)
    const queued = this.#opening.start({
      url: this.#serving.url,
      token: this.#signupToken,
      tenants: [...this.#tenants.values()],
    })
    // Awaited below; what goes wrong before that is told there.
    queued.catch(() => {})
    progress(`${LIVE_PROVIDERS.length} providers start …`)
    await this.#tally.until(
      () => LIVE_PROVIDERS.every(({ name }) => this.#tally.connected.has(`provider:${name}`)),
      this.#signal,
    )
    progress('')
    const jobs = liveJobs(perKind)
    note(`${LIVE_PROVIDERS.length} providers, ${LIVE_TENANTS.length} tenants, ${jobs.length} jobs.`)
    note(`${OPENING.people} people wait for ${OPENING.seats} seats of a booking that opens soon.`)
    const drawing = setInterval(() => progress(this.#progressLine(jobs.length)), 100)
    const isDone = await this.#sendAndWait(jobs)
    await queued
    const patience = AbortSignal.any([this.#signal, AbortSignal.timeout(PATIENCE_MS)])
    const opening = isDone ? await this.#opening.end(patience) : null
    clearInterval(drawing)
    progress('')
    if (opening === null || this.#signal.aborted) return EXIT.failed

    const wrong = [...(await this.#wrong()), ...opening.wrong]
    const explained = await this.#explained()
    const { crashes } = this.#providers
    const figures = liveFigures(this.#tally, { wrong, explained, opening, crashes })
    if (isJson) out(JSON.stringify(figures, null, 2).split('\n'))
    else out(['', ...liveReport(figures, colors.bold)])
    if (!isBrief) {
      note(['', ...this.#whatNow()])
      await this.#trickle(perKind, stopped)
    }
    return wrong.length === 0 ? EXIT.ok : EXIT.failed
  }

  async close(): Promise<void> {
    this.#terminal.progress('')
    await this.#opening.close()
    await this.#providers.stop()
    await Promise.all([this.#admin, ...this.#tenants.values()].map((client) => client.close()))
  }

  async #listen(events: AsyncIterable<Parameters<Tally['take']>[0]>): Promise<void> {
    for await (const event of events) this.#tally.take(event)
  }

  /** False if it was told to stop, or took too long. */
  async #sendAndWait(jobs: readonly LiveJob[]): Promise<boolean> {
    const patience = AbortSignal.any([this.#signal, AbortSignal.timeout(PATIENCE_MS)])
    await Promise.all(jobs.map((job) => this.#send(job)))
    await this.#tally.until(() => this.#tally.ended === jobs.length, patience)
    if (this.#signal.aborted) return false
    if (this.#tally.ended < jobs.length) {
      this.#terminal.note(`After ${PATIENCE_MS / 1_000} s not all jobs have ended.`)
    }
    return true
  }

  async #send(job: LiveJob): Promise<void> {
    const client = this.#tenants.get(job.tenant) as NodeClient
    const { task_id } = await client.enqueue(job.request)
    this.#tally.expect(task_id, job)
    if (job.end === 'CANCELED') await client.cancel(task_id)
  }

  /** Jobs that ended otherwise than they should have, or with another output. */
  async #wrong(): Promise<string[]> {
    const found = await Promise.all(
      [...this.#tally.outcomes.values()].map(async ({ taskId, job, status }) => {
        if (status !== job.end) return `${taskId} is ${status}, expected ${job.end}`
        if (job.output === null) return null
        const client = this.#tenants.get(job.tenant) as NodeClient
        const { text } = await client.readResult(taskId)
        return text === job.output ? null : `${taskId} gave "${text}", expected "${job.output}"`
      }),
    )
    return found.filter((line) => line !== null)
  }

  async #explained(): Promise<{ readonly task_id: string; readonly text: string } | null> {
    const done = [...this.#tally.outcomes.values()].filter(({ status }) => status === 'COMPLETED')
    // The fewest attempts that are more than one: enough to see, and short enough to read.
    const [chosen = done[0]] = done
      .filter(({ attempts }) => attempts > 1)
      .sort((a, b) => a.attempts - b.attempts)
    if (chosen === undefined) return null
    const { text } = await this.#admin.explain(chosen.taskId)
    return { task_id: chosen.taskId, text }
  }

  /** The address stands in a line of its own, to be clicked. */
  #tellPage(): void {
    const line = dashboardLine(this.#serving)
    if (line === null) return
    this.#terminal.note(line)
    if (this.#serving.dashboard !== null) this.#terminal.note(`Its token: ${this.#adminToken}`)
  }

  #progressLine(of: number): string {
    const { ended, outcomes, requeues } = this.#tally
    const again = [...requeues.values()].reduce((sum, n) => sum + n, 0)
    return `${progressBar(ended, of)} ${ended} of ${of} jobs, ${outcomes.size - ended} under way, ${again} sent back; ${this.#opening.line}`
  }

  #whatNow(): string[] {
    const { bold, dim } = this.#terminal.colors
    const { url } = this.#serving
    return [
      bold('The server stays up, and a job comes now and then. Ctrl-C ends it.'),
      '',
      `  ${url}/openrpc.json   every method`,
      `  ${url}/readyz         does it take work?`,
      '',
      dim('In another terminal:'),
      `  export FAIRLEAD_URL=${url} FAIRLEAD_TOKEN=${this.#adminToken}`,
      '  npx fairlead top',
      '  npx fairlead jobs list --status FAILED',
      '  npx fairlead enqueue ai llama3-8b "over the fence" --wait',
      '  npx fairlead jobs watch',
      `  npx fairlead sessions show ${Object.values(OPENING.session).join(' ')}`,
      '  curl -H "authorization: Bearer $FAIRLEAD_TOKEN" $FAIRLEAD_URL/metrics',
    ]
  }

  /** A job now and then, so that there is something to look at. */
  async #trickle(perKind: number, stopped: Promise<void>): Promise<void> {
    let sent = 0
    const send = (job: LiveJob): void => {
      sent++
      this.#send(job).catch((error: Error) => this.#terminal.note(error.message))
    }
    const timer = setInterval(() => {
      send(liveJob(sent))
      if (sent % RUSH_EVERY === 0) {
        // More than a window has room for: its budget is at its limit for some seconds.
        for (let i = 0; i < 2 * scarceRequests(perKind); i++) send(scarceJob(sent))
      }
      const { ended, outcomes } = this.#tally
      this.#terminal.progress(`${sent} more jobs sent, ${outcomes.size - ended} under way`)
    }, TRICKLE_MS)
    await stopped
    clearInterval(timer)
  }
}

/** Only what the demo needs: no file and no variable of whoever starts it. */
