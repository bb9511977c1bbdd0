import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NodeClient, type WireEvent } from '@fairlead/client'
import { fromHex } from '@fairlead/core'
import type { TokenFile } from '@fairlead/server'
import { EXIT } from '../../exit-codes.ts'
import { makeProviderKey } from '../../keys/make-provider-key.ts'
import { type Serving, startServing } from '../../serve/start-serving.ts'
import { progressBar } from '../../terminal/progress-bar.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { untilSignal } from '../../terminal/until-signal.ts'
import { openTokens } from '../../tokens.ts'
import { demoConfig } from '../demo-config.ts'
import { ProviderProcesses } from '../provider-processes.ts'
import { CertificateAuthority, pemOf } from './authority.ts'
import { FUND_PROVIDERS, type FundProvider, fundPolicy } from './cast.ts'
import { FundEvents } from './fund-events.ts'
import type { FundOrders } from './fund-provider-process.ts'
import { fundReport } from './fund-report.ts'
import { liveFigures } from './live-figures.ts'

export interface LiveFundOptions {
  /** Where the store goes; a folder that is removed afterwards if left out. */
  readonly dir?: string | undefined
  readonly port: number
  readonly perKind: number
  readonly isJson: boolean
  readonly terminal: Terminal
}

const EPOCH_SECS = 4
const PROOF_TIMEOUT_SECS = 2
/** The jobs are spread over so many epochs. */
const EPOCHS = 3
const SEND_EVERY_MS = 50
const DAY_MS = 86_400_000
/** Enough for a slow machine; then whatever is missing counts as wrong. */
const PATIENCE_MS = 120_000

/** The demo of a fund: a server, five providers in processes of their own, short epochs, and what was settled. */
export async function runLiveFund(options: LiveFundOptions): Promise<number> {
  const { terminal, port, isJson } = options
  const folder = options.dir ?? mkdtempSync(join(tmpdir(), 'fairlead-fund-'))
  mkdirSync(folder, { recursive: true })
  const config = demoConfig(folder, port, 'fund')
  const tokens = openTokens(config)
  const stop = untilSignal()
  const root = makeProviders(folder)
  const times = { epochSecs: EPOCH_SECS, proofTimeoutSecs: PROOF_TIMEOUT_SECS }
  const policy = fundPolicy({ ...times, root })
  terminal.note(`Starting a server on ${config.settings.store.path} …`)
  const serving = await startServing({ config, tokens, log: 'silent', policy })
  const demo = new LiveFund({ serving, tokens, folder, terminal })
  try {
    const patience = AbortSignal.any([stop.signal, AbortSignal.timeout(PATIENCE_MS)])
    const isDone = await demo.run(options.perKind, patience)
    if (stop.signal.aborted) return EXIT.failed
    const figures = await demo.figures(isDone)
    if (isJson) terminal.out(JSON.stringify(figures, null, 2).split('\n'))
    else terminal.out(['', ...fundReport(figures, terminal.colors.bold)])
    return figures.wrong.length === 0 ? EXIT.ok : EXIT.failed
  } finally {
    terminal.note('Stopping …')
    await demo.close()
    await serving.close()
    if (options.dir === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** Keys and certificates of all providers, in files as theirs are. Gives the fingerprint of the root. */
function makeProviders(folder: string): string {
  const now = Math.floor(Date.now() / 1_000) * 1_000
  const validity = { notBefore: now - DAY_MS, notAfter: now + DAY_MS }
  const authority = new CertificateAuthority('Demo Hardware', validity)
  for (const { name } of FUND_PROVIDERS) {
    const publicKey = makeProviderKey(join(folder, `${name}.key`))
    const chain = authority.chainFor(name, fromHex(publicKey) as Uint8Array)
    writeFileSync(join(folder, `${name}.pem`), pemOf(chain))
  }
  return `0x${createHash('sha256').update(authority.root).digest('hex')}`
}

class LiveFund {
  readonly #terminal: Terminal
  readonly #admin: NodeClient
  readonly #requester: NodeClient
  readonly #providers: ProviderProcesses<FundProvider>
  readonly #events = new FundEvents()

  constructor(parts: {
    readonly serving: Serving
    readonly tokens: TokenFile
    readonly folder: string
    readonly terminal: Terminal
  }) {
    const { serving, tokens, folder, terminal } = parts
    const { url } = serving
    this.#terminal = terminal
    this.#admin = connect(url, { token: tokens.create({ role: 'admin', subject: 'demo' }).token })
    const { token } = tokens.create({ role: 'requester', subject: 'acme' })
    this.#requester = connect(url, { token })
    this.#providers = new ProviderProcesses({
      program: new URL('./fund-provider-process.js', import.meta.url),
      ordersOf: (provider): FundOrders => ({
        ...{ url, provider },
        token: tokens.create({ role: 'provider', subject: `provider:${provider.name}` }).token,
        keyFile: join(folder, `${provider.name}.key`),
        chainFile: join(folder, `${provider.name}.pem`),
        lateMs: 1_000 * PROOF_TIMEOUT_SECS + 500,
      }),
    })
  }

  /** False if it took too long. */
  async run(perKind: number, signal: AbortSignal): Promise<boolean> {
    const { note, progress } = this.#terminal
    const events = this.#admin.events()
    await events.ready()
    void this.#listen(events)
    for (const provider of FUND_PROVIDERS) this.#providers.start(provider)
    progress(`${FUND_PROVIDERS.length} providers start …`)
    await this.#events.until(() => this.#events.attested.size === FUND_PROVIDERS.length, signal)
    if (signal.aborted) return false
    await this.#stake()
    const jobs = 2 * perKind
    const terms = `epochs of ${EPOCH_SECS} s`
    note(`${FUND_PROVIDERS.length} providers with keys and certificates, ${jobs} jobs, ${terms}.`)
    const drawing = setInterval(() => progress(this.#progressLine(jobs)), 100)
    await this.#send(perKind, signal)
    const out = FUND_PROVIDERS.reduce((sum, { takesOut = 0 }) => sum + takesOut, 0)
    await this.#events.until(() => this.#events.isSettled(jobs, out), signal)
    clearInterval(drawing)
    progress('')
    return !signal.aborted
  }

  figures(isDone: boolean): ReturnType<typeof liveFigures> {
    return liveFigures(this.#admin, this.#events, isDone)
  }

  async close(): Promise<void> {
    this.#terminal.progress('')
    await this.#providers.stop()
    await this.#admin.close()
    await this.#requester.close()
  }

  async #listen(events: AsyncIterable<WireEvent>): Promise<void> {
    for await (const event of events) this.#events.take(event)
  }

  async #stake(): Promise<void> {
    for (const { name, stake, takesOut } of FUND_PROVIDERS) {
      const provider_id = `provider:${name}`
      await this.#admin.call('aicf.stake', { provider_id, amount_u64: stake })
      if (takesOut === undefined) continue
      await this.#admin.call('aicf.unstake', { provider_id, amount_u64: takesOut })
    }
  }

  /** Spread over the epochs, so that there is something to settle in each. */
  async #send(perKind: number, signal: AbortSignal): Promise<void> {
    const steps = Math.ceil((1_000 * EPOCH_SECS * EPOCHS) / SEND_EVERY_MS)
    const startedAt = performance.now()
    for (let step = 0, sent = 0; sent < perKind && !signal.aborted; step++) {
      const due = Math.min(perKind, Math.ceil(((step + 1) * perKind) / steps))
      const calls = []
      for (; sent < due; sent++) calls.push(this.#ai(sent), this.#quantum(sent))
      await Promise.all(calls)
      const wait = startedAt + (step + 1) * SEND_EVERY_MS - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  #ai(i: number): Promise<unknown> {
    const max_tokens = 100 * (1 + (i % 4))
    return this.#requester.aiEnqueue('llama3-8b', `sentence ${i}`, { max_tokens })
  }

  #quantum(i: number): Promise<unknown> {
    const shots = 1_000 * (1 + (i % 4))
    return this.#requester.quantumEnqueue(`bell pair ${i}`, { shots, depth_hint: 10 + (i % 30) })
  }

  #progressLine(of: number): string {
    const { completed, settled, slashes } = this.#events
    return `${progressBar(completed, of)} ${completed} of ${of} jobs, ${settled.length} epochs settled, ${slashes.length} slashes`
  }
}
