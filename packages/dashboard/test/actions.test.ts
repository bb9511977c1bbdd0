import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Served } from './served.ts'
import { launch, PATIENCE_MS, POLL, Watched } from './watched.ts'

let browser: Browser
let served: Served
let tab: Watched

beforeAll(async () => {
  browser = await launch()
  served = await Served.open({ policy: { queue: { retries: { attempt_max: 1 } } } })
  served.work()
  tab = await Watched.open(browser, served.url)
}, PATIENCE_MS)

afterAll(async () => {
  await browser?.close()
  await served?.close()
}, PATIENCE_MS)

const statusOf = async (task_id: string): Promise<string> =>
  (await served.client.call('aicf.getJob', { task_id })).status
const becomes = (task_id: string, status: string): Promise<void> =>
  expect.poll(() => statusOf(task_id), POLL).toBe(status)
const hash = (): Promise<unknown> => tab.page.evaluate('location.hash')

describe('jobs', () => {
  it(
    'VIEW-6: a job is there without being asked for, and the filter is found, completed and kept',
    async () => {
      const { page } = tab
      await tab.go('#/')
      await page.keyboard.press('/')
      await expect.poll(hash, POLL).toBe('#/jobs')
      await expect.poll(() => page.evaluate('document.activeElement.tagName'), POLL).toBe('INPUT')
      await page.keyboard.type('na')
      await page.keyboard.press('Tab')
      await page.keyboard.type('fresh')
      await tab.sees('No job fits this filter.')
      const id = await served.task('fresh')
      await page.locator(`a[href="#/jobs/${id}"]`).waitFor()
      await page.reload()
      await page.locator(`a[href="#/jobs/${id}"]`).waitFor()
      expect(await page.inputValue('[data-filter]')).toBe('name:fresh')
      expect(await page.locator('.line').count()).toBe(1)

      await page.fill('[data-filter]', 'status:BROKEN')
      await tab.sees(/status: expected QUEUED, ASSIGNED/)
      await page.fill('[data-filter]', `id:${id.slice(0, 12)}`)
      await page.locator(`a[href="#/jobs/${id}"]`).waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await page.locator('.list').focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await expect.poll(hash, POLL).toBe(`#/jobs/${id}`)
      await tab.sees('Timeline')
      await page.keyboard.press('Escape')
      await expect.poll(hash, POLL).toBe('#/jobs')
    },
    PATIENCE_MS,
  )

  it(
    'VIEW-14: thousands of them are scrolled through, a page after the other',
    async () => {
      const ids = await Promise.all(
        Array.from({ length: 250 }, () => served.task('moon', { regions: ['the-moon'] })),
      )
      await tab.go('#/jobs?filter=name:moon')
      const shown = async (): Promise<number> => {
        await tab.page.evaluate("document.querySelector('.list').scrollTo(0, 1e9)")
        return Number(/[\d,]+/.exec((await tab.page.textContent('.panel header .push')) ?? '')?.[0])
      }
      await expect.poll(shown, POLL).toBe(ids.length)
      const [oldest] = [
        ...(await served.client.call('aicf.listJobs', { name: 'moon', limit: 1 })).jobs,
      ]
      await shown()
      const row = tab.page.locator(`a[href="#/jobs/${oldest?.task_id}"]`)
      await row.waitFor()
      expect(await tab.page.locator('.line').count()).toBeLessThan(60)
      // What one reads stays where it is when new jobs come in above.
      const { y } = (await row.boundingBox()) ?? { y: 0 }
      await served.task('moon', { regions: ['the-moon'] })
      await tab.sees('251 jobs shown')
      expect((await row.boundingBox())?.y).toBe(y)
    },
    PATIENCE_MS,
  )

  it(
    'VIEW-8: all that fit are cancelled: counted, confirmed, watched, and audited',
    async () => {
      await tab.go('#/jobs?filter=name:moon')
      await tab.press('Cancel all …')
      await tab.sees('This is a dry run: nothing has been touched.')
      expect(await tab.violations()).toEqual([])
      expect((await served.client.call('aicf.listJobs', { status: 'CANCELED' })).jobs).toEqual([])
      await tab.press('Cancel 251 jobs')
      await tab.sees('Done: 251 jobs cancelled.')
      await tab.page.getByRole('link', { name: 'Audit log' }).click()
      await tab.sees('bulkEnded')
      const { entries } = await served.client.call('audit.list', { order: 'newest', limit: 1_000 })
      const bulk = entries.filter(({ action }) => action.startsWith('bulk'))
      expect(bulk.map(({ action }) => action)).toEqual(
        expect.arrayContaining(['bulkStarted', 'bulkEnded']),
      )
      expect(new Set(bulk.map(({ subject }) => subject)).size).toBe(1)
    },
    PATIENCE_MS,
  )

  it(
    'all that failed are retried',
    async () => {
      const id = await served.task('broken')
      await becomes(id, 'FAILED')
      await tab.go('#/jobs?filter=status:FAILED')
      await tab.press('Retry all …')
      await tab.press('Retry 1 job')
      await tab.sees('Done: 1 job enqueued again.')
      await tab.page.keyboard.press('Escape')
      const again = async (): Promise<number> =>
        (await served.client.call('aicf.listJobs', { name: 'broken' })).jobs.length
      await expect.poll(again, POLL).toBe(2)
    },
    PATIENCE_MS,
  )
})

describe('a job', () => {
  it(
    'that runs tells its progress and its log, and can be cancelled',
    async () => {
      const id = await served.task('slow')
      await tab.go(`#/jobs/${id}`)
      await tab.sees('RUNNING')
      await tab.sees(/40 % page 4 of 10/)
      await tab.sees(/begins with slow/)
      await tab.sees(/so far/)
      await tab.press('Cancel')
      await tab.sees('A worker that has it is told to stop. A result that comes later is ignored.')
      await tab.press('Cancel')
      await becomes(id, 'CANCELED')
      await tab.sees('CANCELED')
      await expect
        .poll(() => tab.page.getByRole('button', { name: 'Cancel' }).count(), POLL)
        .toBe(0)
    },
    PATIENCE_MS,
  )

  it(
    'that is done shows what came of it, and its round can be computed again',
    async () => {
      const id = await served.task('echo')
      await becomes(id, 'COMPLETED')
      await tab.go(`#/jobs/${id}`)
      const result = tab.page.getByRole('region', { name: 'Result' })
      await result.getByText('"made"').waitFor()
      await result.getByRole('button', { name: 'text' }).click()
      await result.getByText('{"content":"made","of":"echo"}').waitFor()
      await result.getByRole('button', { name: 'hex' }).click()
      await result.getByText('00000000  7b 22 63').waitFor()
      await tab.page.getByRole('region', { name: 'Payload' }).getByText('800').waitFor()
      await tab.press('Compute it again here')
      await tab.sees('same order')
      for (const name of ['Cancel', 'Retry']) {
        expect(await tab.page.getByRole('button', { name, exact: true }).count()).toBe(0)
      }
    },
    PATIENCE_MS,
  )

  it(
    'that failed is retried as a new one',
    async () => {
      const id = await served.task('broken')
      await becomes(id, 'FAILED')
      await tab.go(`#/jobs/${id}`)
      await tab.sees('the mail server is away')
      await tab.press('Retry')
      await tab.sees(/This enqueues a new job/)
      await tab.press('Retry')
      await tab.sees('It is enqueued again, as a new job.')
      const retries = async (): Promise<number> => {
        const { jobs } = await served.client.call('aicf.listJobs', { name: 'broken', limit: 100 })
        return jobs.filter(({ request }) => request.retry_of === id).length
      }
      await expect.poll(retries, POLL).toBe(1)
    },
    PATIENCE_MS,
  )
})

describe('what is not for everybody', () => {
  it(
    'VIEW-7: a registration shows neither payload nor result',
    async () => {
      const { task_id } = await served.client.schedule({
        ...{ provider: 'swimclub', org_ref: 'north', event_id: 'beginners-tue' },
        ...{ user_id: 'ann-of-north', opens_at: Date.now() + 3_600_000 },
      })
      await tab.go(`#/jobs/${task_id}`)
      await tab.sees('It is about a person, so it is not shown here.')
      expect(await tab.page.textContent('main')).not.toContain('ann-of-north')
    },
    PATIENCE_MS,
  )

  it(
    'VIEW-7: where the operator wants none on screens, no payload and no result is shown',
    async () => {
      const other = await Served.open({ showsPayloads: false })
      other.work()
      const id = await other.task('echo')
      await other.client.waitForResult(id)
      const look = await Watched.open(browser, other.url, { path: `#/jobs/${id}` })
      await look.sees('The operator of this server wants no payloads and results on screens.')
      const text = (await look.page.textContent('main')) ?? ''
      expect(text).not.toContain('made')
      expect(text).not.toContain('800')
      await look.close()
      await other.close()
    },
    PATIENCE_MS,
  )
})

describe('everything else that can be done', () => {
  it(
    'a queue is paused and resumed; what is held up offers the resume',
    async () => {
      const id = await served.task('held', { delay_ms: 0, regions: ['the-moon'] })
      await tab.go('#/queues')
      const row = tab.page
        .getByRole('table', { name: 'Queues' })
        .getByRole('row', { name: /task held/ })
      await row.getByRole('button', { name: 'Pause' }).click()
      await tab.press('Pause')
      const pauses = async (): Promise<number> =>
        (await served.client.call('queues.list', {})).pauses.length
      await expect.poll(pauses, POLL).toBe(1)
      await row.getByText('paused, 1 held').waitFor()
      // Its only job is not ready any more, so the pause holds none.
      const later = await served.task('held', { delay_ms: 3_600_000 })
      await served.client.cancel(id)
      await row.getByText('paused', { exact: true }).waitFor()
      await row.getByRole('button', { name: 'Resume' }).click()
      await expect.poll(pauses, POLL).toBe(0)
      await row.getByText('open', { exact: true }).waitFor()
      const now = await served.task('held', { regions: ['the-moon'] })

      await tab.page.getByLabel('Name of jobs to pause').fill('held')
      await tab.press('Pause these')
      await tab.press('Pause these')
      await expect.poll(pauses, POLL).toBe(1)
      await tab.go('#/waiting')
      await tab.press('Do it')
      await tab.press('Do it')
      await expect.poll(pauses, POLL).toBe(0)
      await served.client.cancel(later)
      await served.client.cancel(now)
    },
    PATIENCE_MS,
  )

  it(
    'a schedule is triggered, paused, resumed and deleted',
    async () => {
      const request = { kind: 'task' as const, payload: { name: 'nightly', args: {} } }
      await served.client.putSchedule({ id: 'nightly', cron: '0 3 * * *', request })
      const now = async (): Promise<string> => {
        const { schedules } = await served.client.call('schedules.list', {})
        return schedules
          .map(({ paused, last_task_id }) => `${paused} ${last_task_id !== null}`)
          .join()
      }
      await tab.go('#/schedules')
      await tab.press('Run now')
      await expect.poll(now, POLL).toBe('false true')
      await tab.press('Pause')
      await expect.poll(now, POLL).toBe('true true')
      await tab.press('Resume')
      await expect.poll(now, POLL).toBe('false true')
      await tab.press('Delete')
      await tab.press('Delete')
      await expect.poll(now, POLL).toBe('')
      await tab.sees('There is no schedule yet. Put one:')
    },
    PATIENCE_MS,
  )

  it(
    'a provider is paused, activated and suspended',
    async () => {
      const status = async (): Promise<string> =>
        (await served.client.call('aicf.getProvider', { provider_id: 'provider:atlas' as never }))
          .provider.status
      await tab.go('#/providers/provider%3Aatlas')
      await tab.press('Pause')
      await tab.press('Pause')
      await expect.poll(status, POLL).toBe('PAUSED')
      await tab.press('Activate')
      await expect.poll(status, POLL).toBe('ACTIVE')
      await tab.press('Suspend')
      await tab.press('Suspend')
      await expect.poll(status, POLL).toBe('SUSPENDED')
      await tab.press('Activate')
      await expect.poll(status, POLL).toBe('ACTIVE')
    },
    PATIENCE_MS,
  )

  it(
    'a limit is reset',
    async () => {
      const { client } = served
      await client.call('limits.define', {
        limit: { key: 'mail', kind: 'fixed', capacity: 5, window_seconds: 3_600 },
      })
      const requirements = [{ key: 'mail', amount: 3 }]
      await client.call('limits.reserve', { lease_id: 'outside', requirements })
      await tab.go('#/budgets')
      await tab.sees('2 free')
      await tab.press('Reset')
      await tab.press('Reset')
      await tab.sees('5 free')
    },
    PATIENCE_MS,
  )

  it(
    'the policy is changed after its difference was shown; a wrong value is explained',
    async () => {
      await tab.go('#/policy?filter=queue.batch_size')
      await tab.press('Change queue.batch_size')
      const value = tab.page.getByLabel('New value')
      await value.fill('many')
      await tab.press('Show the difference')
      await tab.sees(/queue\.batch_size: expected a whole number/)
      await value.fill('512')
      await tab.press('Show the difference')
      await tab.sees('+ 512')
      expect(await tab.violations()).toEqual([])
      await tab.press('Put in force')
      await tab.sees('The policy is in force.')
      const { policy } = await served.client.call('policy.get', {})
      expect(policy).toMatchObject({ queue: { batch_size: 512, retries: { attempt_max: 1 } } })
      await tab.sees('changed')
    },
    PATIENCE_MS,
  )

  it(
    'a backup is made, and told of',
    async () => {
      const path = join(served.folder, 'backup.db')
      await tab.go('#/storage')
      await tab.page.getByLabel('New file on the machine of the server').fill(path)
      await tab.press('Make a backup')
      await tab.page.getByRole('definition').filter({ hasText: path }).waitFor()
      expect(existsSync(path)).toBe(true)
      await tab.press('Make a backup')
      await tab.page.locator('.notices .bad').waitFor()
      await tab.press('Close')
    },
    PATIENCE_MS,
  )

  it(
    'help, settings and the time zone',
    async () => {
      const { page } = tab
      await tab.go('#/audit')
      await page.keyboard.press('?')
      await tab.sees('Terms of a filter, joined by "and"')
      expect(await tab.violations()).toEqual([])
      await page.keyboard.press('Escape')
      await tab.press('Settings')
      await page.getByLabel('Time zone of all times').selectOption('Asia/Tokyo')
      await page.getByLabel('Colours').selectOption('dark')
      await tab.press('Close')
      const entry = (await served.client.call('audit.list', { order: 'newest', limit: 1 }))
        .entries[0]
      const local = new Intl.DateTimeFormat('en-CA', {
        ...{ timeZone: 'Asia/Tokyo', hourCycle: 'h23' },
        ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
      }).format(entry?.at)
      await tab.sees(new RegExp(local))
      await page.reload()
      await tab.sees(new RegExp(local))
      expect(await page.evaluate('getComputedStyle(document.body).colorScheme')).toBe('dark')
    },
    PATIENCE_MS,
  )

  it('nothing was asked elsewhere, and nothing was said on the console', () => {
    expect(tab.troubles).toEqual([])
  })
})
