// Calls a model through the `openai` package without running into its limits. Needs no account: the provider is a fake one.
//
//   node examples/openai-limits.mjs [jobs]
import { createLimiter, createScheduler, modelKeys } from '@fairlead/limiter'
import OpenAI from 'openai'
import { startFakeProvider } from './fake-provider.mjs'

const jobs = Number(process.argv[2] ?? 45)
const quota = { requests: 20, tokens: 3_000 }
const provider = await startFakeProvider(quota)
// One try each: how long to wait is decided here, and not by the client.
const openai = new OpenAI({ apiKey: 'none', baseURL: provider.url, maxRetries: 0 })

const { rpm, tpm, concurrency } = modelKeys('openai', 'gpt')
const limiter = createLimiter({
  limits: [
    // Evenly, and with some room: a provider counts when a request arrives, and some are on their way for longer.
    { key: rpm, kind: 'bucket', burst: 2, rate: 0.75 * quota.requests },
    { key: tpm, kind: 'rolling', capacity: quota.tokens, windowSecs: 1 },
    { key: concurrency, kind: 'concurrency', capacity: 10, timeoutSecs: 60 },
  ],
})
const scheduler = createScheduler({ limiter, workers: 10 })

/** Asks once; a provider that says 429 all the same is left alone for as long as it wants, then asked again. */
async function ask(prompt) {
  for (;;) {
    try {
      return await scheduler.submit({
        tenant: 'demo',
        provider: 'openai',
        model: 'gpt',
        prompt,
        maxOutputTokens: 100,
        execute: async ({ signal }) => {
          const messages = [{ role: 'user', content: prompt }]
          const body = { model: 'gpt', messages, max_tokens: 100 }
          const answer = await openai.chat.completions.create(body, { signal })
          return {
            value: answer.choices[0].message.content,
            actualTokens: answer.usage.total_tokens,
          }
        },
      })
    } catch (error) {
      if (!(error instanceof OpenAI.RateLimitError)) throw error
      await scheduler.feedback({ provider: 'openai', model: 'gpt' }, error)
    }
  }
}

const started = performance.now()
const answers = await Promise.all(Array.from({ length: jobs }, (_, i) => ask(`question ${i}`)))
const seconds = (performance.now() - started) / 1_000
await scheduler.shutdown()
provider.stop()
console.log(
  `${answers.length} answers in ${seconds.toFixed(1)} s, ${provider.calls.tokens} tokens, refused by the provider: ${provider.calls.refused}`,
)
