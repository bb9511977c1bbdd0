import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type NewToken, type ServerOptions, TokenFile } from '@fairlead/server'

const SERVER = fileURLToPath(new URL('server-process.mjs', import.meta.url))
/** The well-behaved tenant enqueues this often. */
const BEAT_MS = 20
const MIB = 1_024 * 1_024

/** People of these tests; each has a token. */
export const PEOPLE = {
  attacker: { role: 'requester', subject: 'mallory' },
  victim: { role: 'requester', subject: 'alice' },
  operator: { role: 'operator', subject: 'olga' },
  admin: { role: 'admin', subject: 'ada' },
  provider: { role: 'provider', subject: 'provider:atlas' },
} as const
export type Person = keyof typeof PEOPLE

/** An attack that is over so soon held up nobody for longer. */
const SHORT_MS = 1_000

/** Whether the well-behaved tenant was served beside an attack. */
export function wasServed({ meanwhile, attackMs, failed }: Damage): boolean {
  return failed === 0 && (meanwhile > 0 || attackMs < SHORT_MS)
}

/** What an attack did to the well-behaved tenant, and to the server's memory. */
export interface Damage {
  readonly p99Ms: number
  readonly maxMs: number
  readonly served: number
  /** Of these, how many were sent after the attack began and answered before it was over. */
  readonly meanwhile: number
  readonly attackMs: number
  readonly failed: number
  readonly rssMiB: { readonly before: number; readonly peak: number; readonly after: number }
}

interface HostileOptions {
  readonly limits?: ServerOptions['limits']
  readonly policy?: unknown
  readonly hosts?: readonly string[]
  readonly trustedProxies?: readonly string[]
  /** Those who have tokens; the rig's own people if left out. */
  readonly people?: Readonly<Record<string, NewToken>>
  readonly isInsecureLocal?: boolean
  /** People who stand in line for the session `full` of `north` at `site` from the start. */
  readonly inLine?: number
  /** Of the server's process. */
  readonly heapMiB?: number
}

/**
 * A real server in a process of its own, an attacker and a tenant beside it. The tenant's 99th percentile is
 * printed; its bar is 250 ms on an idle machine. Tests count how often the tenant was served meanwhile, and read
 * the server's log and memory, so that a busy machine fails none.
 */
export class HostileRig {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-hostile-'))
  readonly log: string[] = []
  url = ''
  tokens: Readonly<Record<Person, string>> = {
    attacker: '',
    victim: '',
    operator: '',
    admin: '',
    provider: '',
  }
  #child: ChildProcessByStdio<null, Readable, Readable> | null = null
  readonly #lines = new EventEmitter()
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  readonly #sockets = new Set<Socket>()

  static async open(options: HostileOptions = {}): Promise<HostileRig> {
    const rig = new HostileRig()
    await rig.start(options)
    return rig
  }

  /** The tokens file of the server, as another process has it. */
  get tokenFile(): TokenFile {
    return new TokenFile(join(this.folder, 'tokens.json'))
  }

  /** Resolves when the server has logged it, so many times. */
  async logs(pattern: RegExp, times = 1): Promise<string> {
    for (;;) {
      const found = this.log.filter((line) => pattern.test(line))
      if (found.length >= times) return found[times - 1] as string
      await once(this.#lines, 'line')
    }
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async start({ heapMiB, ...options }: HostileOptions = {}): Promise<void> {
    const wanted = JSON.stringify({ folder: this.folder, people: PEOPLE, ...options })
    const heap = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`]
    const child = spawn(process.execPath, [...heap, SERVER, wanted], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    createInterface(child.stderr).on('line', (line) => {
      this.log.push(line)
      this.#lines.emit('line')
    })
    const lines = createInterface(child.stdout)
    const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')])
    if (typeof line !== 'string') throw new Error(`the server ended: ${this.log.join('\n')}`)
    const { url, tokens } = JSON.parse(line) as { url: string; tokens: Record<Person, string> }
    this.url = url
    this.tokens = tokens
  }

  /** Ends the server as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  get isAlive(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#agent.destroy()
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** One POST to `/rpc`; the text of the answer, and how long it took. */
  post(
    as: Person,
    message: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; text: string; ms: number }> {
    const body = typeof message === 'string' ? message : JSON.stringify(message)
    const began = performance.now()
    return new Promise((resolve, reject) => {
      const asked = request(
        `${this.url}/rpc`,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.tokens[as]}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            ...headers,
          },
        },
        (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('error', reject)
          answer.on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              text: Buffer.concat(chunks).toString(),
              ms: performance.now() - began,
            }),
          )
        },
      )
      asked.on('error', reject)
      asked.end(body)
    })
  }

  /** A batch of one call again and again. */
  batch(as: Person, method: string, params: object, count: number) {
    return this.post(
      as,
      Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method, params })),
    )
  }

  enqueue(as: Person, i: number) {
    const payload = { name: 'work', args: { i } }
    return this.post(as, {
      jsonrpc: '2.0',
      id: i,
      method: 'aicf.enqueue',
      params: { kind: 'task', payload },
    })
  }

  /** A bare connection that sends a text and reads nothing. */
  async mute(text: string): Promise<Socket> {
    const { hostname, port } = new URL(this.url)
    const socket = connect(Number(port), hostname)
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.pause()
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }

  /** A GET without a token, on a connection of its own. */
  async get(path: string, headers: Readonly<Record<string, string>> = {}) {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request(`${this.url}${path}`, { agent: false, headers }, resolve)
      asked.on('error', reject)
      asked.end()
    })
    const answer = await answered
    let text = ''
    for await (const chunk of answer) text += String(chunk)
    return { status: answer.statusCode ?? 0, headers: answer.headers, text }
  }

  /** Time of the processor that the server has taken so far, in all of its threads. */
  cpuMs(): number {
    const [user, system] = readFileSync(`/proc/${this.pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .slice(11, 13)
    return 10 * (Number(user) + Number(system))
  }

  rssMiB(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Math.round((Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024) / MIB)
  }

  /** Runs an attack while the tenant goes on enqueueing, and says what the tenant and the memory saw. */
  async suffer(name: string, attack: () => Promise<unknown>): Promise<Damage> {
    await Promise.all(Array.from({ length: 20 }, (_, i) => this.enqueue('victim', i)))
    const before = this.rssMiB()
    let peak = before
    const latencies: number[] = []
    const pending = new Set<Promise<unknown>>()
    let failed = 0
    let meanwhile = 0
    let isOver = false
    let overAt = 0
    let sent = 20
    const beat = setInterval(() => {
      peak = Math.max(peak, this.isAlive ? this.rssMiB() : 0)
      const one = this.enqueue('victim', sent++)
        .then(({ text, ms }) => {
          if (!text.includes('"accepted":true')) {
            failed++
            console.log(`${name}: ${text}`)
          }
          latencies.push(ms)
          if (!isOver) meanwhile++
        })
        .catch(() => failed++)
        .finally(() => pending.delete(one))
      pending.add(one)
    }, BEAT_MS)
    const began = performance.now()
    try {
      await attack()
    } finally {
      isOver = true
      overAt = performance.now()
      clearInterval(beat)
    }
    await Promise.all(pending)
    const sorted = latencies.sort((a, b) => a - b)
    const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
    const attackMs = Math.round(overAt - began)
    const after = this.isAlive ? this.rssMiB() : 0
    const rssMiB = { before, peak: Math.max(peak, after), after }
    const damage = {
      p99Ms: at(0.99),
      maxMs: at(1),
      served: sorted.length,
      meanwhile,
      attackMs,
      failed,
      rssMiB,
    }
    console.log(`${name}: ${JSON.stringify(damage)}`)
    return damage
  }
}
