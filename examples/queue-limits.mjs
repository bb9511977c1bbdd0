// A token quota inside the queue: 2,000 jobs, 10 workers, and one model with 100,000 tokens and 200 requests a minute.
// What a job can take at most is reserved with its lease, and replaced by what it took when it is done. So the provider, which
// counts for itself and would answer 429, never has to, and its quota is used all the same.
//
//   node examples/queue-limits.mjs
//
// Some fifteen minutes pass in it, on a clock that jumps to whatever comes next: engine, limits and workers are the real
// ones, the time and the provider are not.
import { Completion, worker } from '@fairlead/client'
import { callerOf } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { MemoryStore } from '@fairlead/store/memory'

const JOBS = 2_000
const WORKERS = 10
const QUOTA = { tokens: 100_000, requests: 200 }
const MINUTE = 60_000

/** A clock that stands still while anybody is at work, and then jumps to the next wake-up. */
class JumpingClock {
  #now = 1_800_000_000_000
  #wakes = new Set()

  now() {
    return this.#now
  }

  wakeAt(at, wake) {
    const entry = { at, wake }
    this.#wakes.add(entry)
    return () => this.#wakes.delete(entry)
  }

  sleep(ms) {
    return new Promise((resolve) => this.wakeAt(this.#now + ms, resolve))
  }

  async run(isDone) {
    while (!isDone()) {
      for (let i = 0; i < 12; i++) await new Promise((resolve) => setImmediate(resolve))
      let next
      for (const entry of this.#wakes) if (next === undefined || entry.at < next.at) next = entry
      if (next === undefined || isDone()) continue
      this.#wakes.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.wake()
    }
  }
}

/** The same numbers in each run. */
let state = 1
function random() {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
  return state / 0x8000_0000
}

const clock = new JumpingClock()
const startedAt = clock.now()

/** The provider: it counts what the last minute took, and refuses what would be too much. */
const calls = []
let refused = 0
async function complete({ prompt, max_tokens: maxTokens }) {
  const now = clock.now()
  // An answer is hardly ever as long as it may be, and a token of a prompt is some four bytes.
  const tokens = Math.ceil(prompt.length / 4) + Math.ceil(maxTokens * (0.4 + 0.6 * random()))
  const recent = calls.filter(({ at }) => at > now - MINUTE)
  const used = recent.reduce((sum, call) => sum + call.tokens, 0)
  if (recent.length + 1 > QUOTA.requests || used + tokens > QUOTA.tokens) {
    refused++
    throw new Error('429 Too Many Requests')
  }
  calls.push({ at: now, tokens })
  await clock.sleep(500 + Math.floor(2_000 * random()))
  return { text: 'an answer', tokens }
}

const engine = await openEngine({
  store: new MemoryStore(),
  clock,
  policy: {
    admit: [
      {
        kind: 'ai',
        requirements: [
          { key: 'global:llm:acme:{model}:tpm', amount: 'tokens' },
          { key: 'global:llm:acme:{model}:rpm', amount: 1 },
        ],
      },
    ],
  },
})
const limit = (what, capacity) => ({
  key: `global:llm:acme:m1:${what}`,
  kind: 'rolling',
  capacity,
  windowSecs: 60,
})
await engine.limiter.define(limit('tpm', QUOTA.tokens))
await engine.limiter.define(limit('rpm', QUOTA.requests))

let done = 0
const workers = Array.from({ length: WORKERS }, () =>
  worker({
    source: engine.leaseSource(),
    providerId: 'provider:acme',
    kinds: ['ai'],
    models: ['m1'],
    concurrency: 1,
    clock,
    handler: async ({ payload }) => {
      const { text, tokens } = await complete(payload)
      done++
      return new Completion({ value: text, actualTokens: tokens })
    },
  }),
)

/** Estimates from some 350 to 1,700 tokens. */
const requests = Array.from({ length: JOBS }, () => ({
  kind: 'ai',
  payload: {
    model: 'm1',
    prompt: Buffer.alloc(50 + Math.floor(450 * random()), 'x'),
    max_tokens: 300 + Math.floor(900 * random()),
  },
}))
const enqueued = await engine.enqueueMany(requests, { caller: callerOf('demo') })
const { value: last } = enqueued.at(-1)

// A look at the last one while it waits, and then all of them.
await clock.run(() => engine.view.waitReason(last) === 'budget')
const { earliestAt, providers } = await engine.explain(last)
const { key, amount, reason } = providers[0].limit
console.log(
  `after ${seconds(clock.now() - startedAt)} the last job waits: it needs ${amount} of ${key} (${reason}), in ${seconds(earliestAt - clock.now())} at the earliest`,
)
await clock.run(() => done === JOBS)

// Only whole minutes with enough work waiting for all of them.
const minutes = Math.floor((calls.at(-1).at - startedAt) / MINUTE)
const whole = calls.filter(({ at }) => at < startedAt + minutes * MINUTE)
const tokens = whole.reduce((sum, call) => sum + call.tokens, 0)
const share = (100 * tokens) / (minutes * QUOTA.tokens)
console.log(`${done} jobs, refused by the provider: ${refused}`)
console.log(
  `tokens used in ${minutes} minutes: ${tokens.toLocaleString('en')}, ${share.toFixed(1)} % of the quota`,
)

const stopping = Promise.all(workers.map((one) => one.stop()))
let isStopped = false
void stopping.then(() => {
  isStopped = true
})
await clock.run(() => isStopped)
await engine.close()

function seconds(ms) {
  return `${(ms / 1_000).toFixed(1)} s`
}
