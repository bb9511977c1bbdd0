import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Served } from './served.ts'
import { launch, PATIENCE_MS, Watched } from './watched.ts'

const SESSION = { provider: 'swimclub', org_ref: 'north', event_id: 'beginners-tue' }

let browser: Browser
let served: Served
let tab: Watched
let failed: string
let done: string

/** Work of every sort: done, failed, running, waiting for several reasons, by the clock, and in line. */
beforeAll(async () => {
  browser = await launch()
  served = await Served.open({
    policy: {
      queue: { retries: { attempt_max: 1 } },
      sessions: { platforms: { swimclub: {}, rowclub: {} } },
      admit: [{ kind: 'task', model: 'metered', requirements: [{ key: 'mail', amount: 1 }] }],
    },
  })
  const { client } = served
  await client.call('limits.define', {
    limit: { key: 'mail', kind: 'rolling', capacity: 2, window_seconds: 3_600, unit: 'mails' },
  })
  served.work()
  served.book(1)
  done = await served.task('echo', { tags: ['first'] })
  await client.waitForResult(done)
  failed = await served.task('broken')
  await client.waitForResult(failed).catch(() => undefined)
  await served.task('slow')
  for (let i = 0; i < 4; i++) await served.task('metered')
  await served.task('echo', { regions: ['the-moon'] })
  await served.task('echo', { delay_ms: 3_600_000 })
  await client.call('queues.pause', { kind: 'task', name: 'held' })
  await served.task('held')
  const request = { kind: 'task' as const, payload: { name: 'echo', args: {} } }
  await client.putSchedule({ id: 'nightly', cron: '0 3 * * *', timezone: 'Europe/Berlin', request })
  for (const user_id of ['ann', 'ben', 'cleo']) {
    await client.schedule({ ...SESSION, user_id, opens_at: Date.now() + 3_600_000 })
    await client.schedule({ ...SESSION, provider: 'rowclub', user_id, opens_at: Date.now() })
  }
  tab = await Watched.open(browser, served.url)
}, PATIENCE_MS)

afterAll(async () => {
  await browser?.close()
  await served?.close()
}, PATIENCE_MS)

/** Each screen, with what it has to say of the work above. */
const SCREENS: readonly (readonly [name: string, hash: () => string, says: readonly RegExp[]])[] = [
  ['overview', () => '#/', [/Looked at, and in order/, /Busiest providers/, /atlas/]],
  ['waiting', () => '#/waiting', [/waiting jobs/, /limit/, /paused/]],
  [
    'budgets',
    () => '#/budgets',
    [/2 used|2 reserved|1 used/, /of 2 mails/, /rolling window of 1 h/],
  ],
  ['fairness', () => '#/fairness', [/Jain index/, /Entitled/]],
  ['jobs', () => '#/jobs', [/Newest first/, /broken/, /FAILED/]],
  ['job', () => `#/jobs/${failed}`, [/Timeline/, /^failed$/, /the mail server is away/, /Rounds/]],
  ['a job that is none', () => '#/jobs/0x12', [/There is no such job/, /64 digits/]],
  ['a job that nobody knows', () => `#/jobs/0x${'0'.repeat(64)}`, [/There is no such job/]],
  ['queues', () => '#/queues', [/paused, 1 held/, /echo/]],
  ['schedules', () => '#/schedules', [/nightly/, /in Europe\/Berlin/]],
  ['sessions', () => '#/sessions', [/beginners-tue/, /rowclub/]],
  ['session', () => '#/sessions/swimclub/north/beginners-tue', [/It opens in/, /59 min/, /SCH-/]],
  ['providers', () => '#/providers', [/atlas/, /429s/, /Cooling down/]],
  ['provider', () => '#/providers/provider%3Aatlas', [/Last heartbeat/, /connected/]],
  ['audit', () => '#/audit', [/jobEnqueued/, /verified/]],
  ['policy', () => '#/policy', [/queue\.batch_size/, /jobs that one round looks at/]],
  [
    'storage',
    () => '#/storage',
    [/Newest batch/, /Write-ahead log/, /None since the server started/],
  ],
]

describe('every screen', () => {
  it.each(SCREENS)(
    'VIEW-11: %s says what there is, in both colours, without a violation that axe knows',
    async (_, hash, says) => {
      await tab.page.setViewportSize({ width: 1280, height: 860 })
      await tab.go(hash())
      for (const text of says) await tab.sees(text)
      expect(await tab.violations()).toEqual([])
      await tab.page.emulateMedia({ colorScheme: 'dark' })
      expect(await tab.violations()).toEqual([])
      await tab.page.emulateMedia({ colorScheme: 'light' })
      for (const width of [360, 2560, 3840]) {
        await tab.page.setViewportSize({ width, height: 860 })
        expect(await tab.overflow(), `at ${width} px`).toBeLessThanOrEqual(0)
      }
      for (const width of [360, 1280]) {
        await tab.page.setViewportSize({ width, height: 860 })
        expect(await tab.cutTables(), `at ${width} px`).toEqual([])
      }
    },
    PATIENCE_MS,
  )

  it(
    'VIEW-13: a queue never hears the words of a market',
    async () => {
      await tab.page.setViewportSize({ width: 1280, height: 860 })
      for (const [, hash] of SCREENS) {
        await tab.go(hash())
        const text = ((await tab.page.textContent('#app')) ?? '').toLowerCase()
        expect(text.match(/\b(?:stak\w*|attest\w*|settle\w*|slash\w*|bands?)\b/g) ?? []).toEqual([])
      }
    },
    PATIENCE_MS,
  )

  it('VIEW-12: nothing was asked elsewhere, and nothing was said on the console', () => {
    expect(tab.troubles).toEqual([])
  })
})
