import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from '@fairlead/client'
import { payloadNumber } from '../queue/payload.ts'
import { RelayClient } from '../yardsticks/relay-client.ts'
import { type Programs, Rig } from './rig.ts'

const IN_FLIGHT = 100
const BATCH = 1_000
const WORKERS = 4
const SLOTS = 250
const WARM_UP_MS = 2_000
const LATENCY_EVERY_MS = 10
/** Two seconds. */
const LATENCY_WARM_UP = 200

/** One that is measured: its programs, and how a requester talks to its server. */
export interface Subject {
  readonly programs: Programs
  readonly connect: (url: string) => Promise<Requester>
}

interface Requester {
  readonly enqueue: (n: number) => Promise<unknown>
  readonly close: () => Promise<void> | void
}

export const FAIRLEAD: Subject = {
  programs: { server: 'rpc/server', worker: 'rpc/worker' },
  async connect(url) {
    const client = connect(url)
    return { enqueue: (n) => client.enqueue(requestNumber(n)), close: () => client.close() }
  },
}

/** The yardstick: `yardsticks/relay.ts`. */
export const RELAY: Subject = {
  programs: { server: 'yardsticks/relay', worker: 'yardsticks/relay-worker' },
  async connect(url) {
    const client = await RelayClient.open(url)
    return {
      enqueue: (n) => client.send(JSON.stringify(payloadNumber(n))),
      close: () => client.close(),
    }
  },
}

/** Jobs that one call takes in, and how many there have been so far. */
type Enqueue = (first: number) => Promise<unknown>

/** Jobs a second, one call after the other on each of so many lanes. */
async function rateOf(
  enqueue: Enqueue,
  { seconds, lanes, perCall }: { seconds: number; lanes: number; perCall: number },
): Promise<number> {
  let next = 0
  const lane = async (until: () => boolean): Promise<void> => {
    while (!until()) {
      const first = next
      next += perCall
      await enqueue(first)
    }
  }
  const run = (until: () => boolean) =>
    Promise.all(Array.from({ length: lanes }, () => lane(until)))
  await run(warmedUp())
  const [begun, before] = [performance.now(), next]
  await run(() => performance.now() - begun >= 1_000 * seconds)
  return (1_000 * (next - before)) / (performance.now() - begun)
}

/** What goes through until then is not measured: code is compiled, caches are filled. */
function warmedUp(): () => boolean {
  const until = performance.now() + WARM_UP_MS
  return () => performance.now() >= until
}

/** `POST /rpc`, a call each, over connections that stay open. */
export async function httpSingle(seconds: number): Promise<number> {
  return withServer(async (url) => {
    const post = poster(url)
    return rateOf((n) => post(callNumber(n)), { seconds, lanes: IN_FLIGHT, perCall: 1 })
  })
}

/** `POST /rpc`, 1,000 calls in a batch, one batch after the other. */
export async function httpBatch(seconds: number): Promise<number> {
  return withServer(async (url) => {
    const post = poster(url)
    const enqueue = (first: number) =>
      post(Array.from({ length: BATCH }, (_, i) => callNumber(first + i)))
    return rateOf(enqueue, { seconds, lanes: 1, perCall: BATCH })
  })
}

/** Single enqueues over one WebSocket, with `client.enqueue` of the SDK for Fairlead. */
export async function socketSingle(subject: Subject, seconds: number): Promise<number> {
  return withServer(async (url) => {
    const requester = await subject.connect(url)
    const rate = await rateOf(requester.enqueue, { seconds, lanes: IN_FLIGHT, perCall: 1 })
    await requester.close()
    return rate
  }, subject)
}

/** Enqueue, assign, ack, handler, complete: with 100 enqueues in flight and four workers elsewhere. */
export async function cycle(subject: Subject, seconds: number): Promise<number> {
  const rig = await Rig.open(subject.programs)
  try {
    let completed = 0
    let tell: () => void = () => {}
    await rig.work(WORKERS, SLOTS, (report) => {
      completed += report.completed
      tell()
    })
    const reached = async (goal: number): Promise<void> => {
      while (completed < goal) await new Promise<void>((resolve) => (tell = resolve))
    }
    const requester = await subject.connect(rig.url)
    let sent = 0
    const lanes = (until: () => boolean) =>
      Promise.all(
        Array.from({ length: IN_FLIGHT }, async () => {
          while (!until()) await requester.enqueue(sent++)
        }),
      )
    await lanes(warmedUp())
    await reached(sent)
    const [begun, before] = [performance.now(), sent]
    await lanes(() => performance.now() - begun >= 1_000 * seconds)
    // The time counts until the last job is over: whatever was put off is paid for in the end.
    await reached(sent)
    const rate = (1_000 * (sent - before)) / (performance.now() - begun)
    await requester.close()
    return rate
  } finally {
    await rig.close()
  }
}

/** From the call that enqueues to the start of the handler in another process, at 100 jobs/s. */
export async function latency(
  subject: Subject,
  seconds: number,
): Promise<{ p50: number; p99: number }> {
  const rig = await Rig.open(subject.programs)
  try {
    const jobs = Math.ceil((1_000 * seconds) / LATENCY_EVERY_MS) + LATENCY_WARM_UP
    const startedAt = new Float64Array(jobs)
    let missing = jobs
    let tell: () => void = () => {}
    await rig.work(WORKERS, SLOTS, ({ started }) => {
      for (const [n, at] of started) startedAt[n] = at
      missing -= started.length
      if (missing === 0) tell()
    })
    const all = new Promise<void>((resolve) => (tell = resolve))
    const requester = await subject.connect(rig.url)
    const sentAt = new Float64Array(jobs)
    const begun = performance.now()
    const calls: Promise<unknown>[] = []
    for (let n = 0; n < jobs; n++) {
      const wait = begun + n * LATENCY_EVERY_MS - performance.now()
      if (wait > 0) await pause(wait)
      sentAt[n] = performance.timeOrigin + performance.now()
      calls.push(requester.enqueue(n))
    }
    await Promise.all(calls)
    await all
    await requester.close()
    const waited = startedAt.map((at, n) => at - (sentAt[n] as number))
    const sorted = waited.subarray(LATENCY_WARM_UP).toSorted()
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] as number
    return { p50: at(0.5), p99: at(0.99) }
  } finally {
    await rig.close()
  }
}

async function withServer(
  measure: (url: string) => Promise<number>,
  { programs } = FAIRLEAD,
): Promise<number> {
  const rig = await Rig.open(programs)
  try {
    return await measure(rig.url)
  } finally {
    await rig.close()
  }
}

function requestNumber(n: number) {
  const { prompt, ...rest } = payloadNumber(n)
  return { kind: 'ai', payload: { ...rest, prompt: Buffer.from(prompt) } } as const
}

function callNumber(n: number): object {
  const { prompt, ...rest } = payloadNumber(n)
  const payload = { ...rest, prompt: `0x${Buffer.from(prompt).toString('hex')}` }
  return { jsonrpc: '2.0', id: n, method: 'aicf.enqueue', params: { kind: 'ai', payload } }
}

/** Sends a message and reads its whole answer; one with an error in it is thrown. */
function poster(url: string): (message: unknown) => Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  const options = { method: 'POST', agent, headers: { 'content-type': 'application/json' } }
  return (message) =>
    new Promise((resolve, reject) => {
      const sending = request(`${url}/rpc`, options, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () =>
          text.includes('"error"') ? reject(new Error(text.slice(0, 200))) : resolve(),
        )
      })
      sending.on('error', reject)
      sending.end(JSON.stringify(message))
    })
}
