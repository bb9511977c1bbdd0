// One instance of an application with a model limiter on Redis, in a process of its own. It is told what to do by
// messages, and tells of every job that starts. The clock is the real one, a faster one, or moved by messages.
import { createModelLimiter, redis } from '@fairlead/limiter'
import { TestClock } from '@fairlead/testkit'

const { url, startMs, speed, ...options } = JSON.parse(process.argv[2])
const manual = speed === 0 ? new TestClock(startMs) : null
const clock = manual ?? (speed > 1 ? fasterClock() : null)
const limiter = createModelLimiter({
  ...options,
  ...(clock === null ? {} : { clock }),
  backend: redis(url, clock === null ? {} : { clock }),
})
let isLeaving = false

/** All processes of a test have the same: it goes by the wall clock of the machine. */
function fasterClock() {
  const now = () => Math.floor(startMs + (Date.now() - startMs) * speed)
  const wakeAt = (atMs, wake) => {
    const timer = setTimeout(() => wake(), Math.max(0, (atMs - now()) / speed))
    return () => clearTimeout(timer)
  }
  return { now, wakeAt }
}

const acts = {
  /** Jobs that use what was estimated, one after the other on some lanes. */
  async load({ lanes, jobTypes }) {
    const lane = async (jobType) => {
      const inputTokens = options.jobTypes[jobType].estimatedTokens
      while (!isLeaving) {
        await limiter
          .run({ jobType }, async () => ({ data: null, usage: { inputTokens } }))
          .catch(() => undefined)
      }
    }
    await Promise.all(Array.from({ length: lanes }, (_, i) => lane(jobTypes[i % jobTypes.length])))
  },
  /** Jobs that end at once, or never. */
  async start({ jobType, count, isEndless = false }) {
    const job = async ({ model }) => {
      process.send({ started: model, atMs: manual?.now() ?? Date.now() })
      if (isEndless) await new Promise(() => {})
      return { data: null }
    }
    for (let i = 0; i < count; i++) void limiter.run({ jobType }, job).catch(() => undefined)
  },
  async advance({ ms }) {
    await manual.advance(ms)
  },
  async leave() {
    isLeaving = true
    await limiter.close()
    process.disconnect()
  },
}

async function obey({ act, ...given }) {
  await acts[act](given)
  if (process.connected) process.send({ done: act })
}
process.on('message', (told) => void obey(told))
const { gpt } = limiter.stats().models
process.send({ ready: gpt !== undefined })
setInterval(() => {
  if (process.connected) process.send({ instances: limiter.stats().models.gpt.instances })
}, 20).unref()
