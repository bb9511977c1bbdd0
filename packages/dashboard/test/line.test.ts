import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Served, type ServedOptions } from './served.ts'
import { launch, PATIENCE_MS, POLL, Watched } from './watched.ts'

let browser: Browser
const open: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  browser = await launch()
}, PATIENCE_MS)
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
}, PATIENCE_MS)
afterAll(() => browser?.close(), PATIENCE_MS)

async function serve(options: ServedOptions = {}): Promise<Served> {
  const served = await Served.open(options)
  open.push(served)
  return served
}

async function watch(
  url: string,
  options: Parameters<typeof Watched.open>[2] = {},
): Promise<Watched> {
  const tab = await Watched.open(browser, url, options)
  open.push(tab)
  return tab
}

const PEOPLE = [
  { role: 'admin', subject: 'ada' },
  { role: 'auditor', subject: 'aud' },
  { role: 'operator', subject: 'eve', scope: { readOnly: true } },
  { role: 'requester', subject: 'rita' },
] as const

describe('the connection of a tab', () => {
  it(
    'VIEW-1: is found again after the server was away; meanwhile nothing is known, and nothing is green',
    async () => {
      const served = await serve()
      const tab = await watch(served.url)
      await tab.page.locator('[data-verdict="fine"]').waitFor()
      await served.stop()
      await tab.page.locator('[data-line="lost"]').waitFor()
      await tab.page.locator('[data-verdict="unknown"]').waitFor()
      await tab.sees(/There is no connection\. The newest data is/)
      expect(await tab.page.locator('.dot.good').count()).toBe(0)
      await served.start()
      await tab.page.locator('[data-line="live"]').waitFor()
      await tab.page.locator('[data-verdict="fine"]').waitFor()
      const id = await served.task('echo')
      await tab.go('#/jobs')
      await tab.page.locator(`a[href="#/jobs/${id}"]`).waitFor()
    },
    PATIENCE_MS,
  )

  it(
    'VIEW-2: is one WebSocket, and none while the tab is hidden; what happened meanwhile is told behind it',
    async () => {
      const served = await serve()
      const tab = await watch(served.url)
      await tab.page.locator('[data-line="live"]').waitFor()
      const sockets = (): Promise<number> =>
        served.client.call('stats.get', {}).then(({ connections }) => connections.websocket - 1)
      expect(await sockets()).toBe(1)
      await tab.go('#/schedules')
      await tab.sees('There is no schedule yet. Put one:')
      await hide(tab, true)
      await expect.poll(sockets, POLL).toBe(0)
      const request = { kind: 'task' as const, payload: { name: 'nightly', args: {} } }
      await served.client.putSchedule({ id: 'nightly', cron: '0 3 * * *', request })
      await hide(tab, false)
      await tab.sees('nightly')
      expect(await sockets()).toBe(1)
      expect(tab.troubles).toEqual([])
    },
    PATIENCE_MS,
  )
})

describe('where the page is', () => {
  it.each(['/', '/x', '/x/y'])(
    'VIEW-10: below %s it works, and so does the address of a screen',
    async (basePath) => {
      const served = await serve({ basePath })
      served.work()
      const id = await served.task('echo')
      await served.client.waitForResult(id)
      expect(new URL(served.url).pathname).toBe(basePath === '/' ? '/' : `${basePath}/`)
      const tab = await watch(served.url)
      await tab.page.locator('[data-line="live"]').waitFor()
      await tab.page.getByRole('link', { name: 'Jobs', exact: true }).click()
      await tab.page.locator(`a[href="#/jobs/${id}"]`).click()
      await tab.sees('COMPLETED')
      await tab.page.reload()
      await tab.sees('COMPLETED')
      await tab.page.goto(`${served.url}jobs/${id}`)
      await tab.sees('COMPLETED')
      expect(tab.page.url()).toBe(`${served.url}#/jobs/${id}`)
      expect(tab.troubles).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'a page of another origin is not let in, and a page around it is not either',
    async () => {
      const served = await serve()
      const [elsewhere, url] = await other(served.url)
      open.push(elsewhere)
      const tab = await watch(url)
      await tab.page.waitForFunction(() => 'said' in globalThis)
      expect(await tab.page.evaluate('said')).toBe('refused')
      const frame = tab.page.frames().find((one) => one.url() !== url)
      expect(await frame?.locator('#app').count()).toBe(0)
    },
    PATIENCE_MS,
  )
})

describe('who looks', () => {
  it(
    'VIEW-4: a token is asked for, a wrong one is told, and a right one is kept only where that is asked for',
    async () => {
      const served = await serve({ tokens: PEOPLE })
      const tab = await watch(served.url)
      const { page } = tab
      await tab.sees('Log in')
      expect(await tab.violations()).toEqual([])
      await page.getByLabel('Token').fill('flt_wrong')
      await tab.press('Log in')
      await page.getByRole('alert').waitFor()
      expect(tab.troubles.filter((text) => !/401|Authentication failed/.test(text))).toEqual([])
      await page.getByLabel('Token').fill(served.tokens[0] ?? '')
      await tab.press('Log in')
      await tab.sees('ada (admin)')
      await page.reload()
      await tab.sees('The server wants a token.')
      await page.getByLabel('Token').fill(served.tokens[0] ?? '')
      await page.getByLabel('Keep it for this tab, until it is closed').check()
      await tab.press('Log in')
      await tab.sees('ada (admin)')
      await page.reload()
      await tab.sees('ada (admin)')
      await tab.press('Settings')
      await tab.press('Log out')
      await tab.sees('The server wants a token.')
      expect(await page.evaluate('sessionStorage.length')).toBe(0)
    },
    PATIENCE_MS,
  )

  it.each([
    ['an auditor', 1],
    ['an operator whose token is read-only', 2],
  ])(
    'VIEW-5: %s sees every screen, and nothing that changes anything',
    async (_, who) => {
      const served = await serve({ tokens: PEOPLE })
      served.work()
      const id = await served.task('slow')
      const request = { kind: 'task' as const, payload: { name: 'nightly', args: {} } }
      await served.client.putSchedule({ id: 'nightly', cron: '0 3 * * *', request })
      const token = served.tokens[who] ?? ''
      const tab = await watch(served.url, { token })
      await tab.page.locator('[data-line="live"]').waitFor()
      const screens = [
        '',
        'jobs',
        `jobs/${id}`,
        'queues',
        'schedules',
        'providers/provider%3Aatlas',
      ]
      for (const screen of [...screens, 'budgets', 'policy', 'storage', 'waiting', 'audit']) {
        await tab.go(`#/${screen}`)
        const buttons = await tab.page.locator('main button').allTextContents()
        const changes =
          /^(Cancel|Retry|Pause|Resume|Run|Delete|Suspend|Activate|Reset|Change|Make|Do it)/
        expect(buttons.filter((text) => changes.test(text))).toEqual([])
      }
      await tab.sees(/verified/)
      expect(tab.troubles).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'VIEW-5: a requester sees its own jobs, and no screen of the operators',
    async () => {
      const served = await serve({ tokens: PEOPLE })
      await served.task('of-ada')
      const tab = await watch(served.url, { token: served.tokens[3] ?? '' })
      await tab.page.locator('[data-line="live"]').waitFor()
      const links = await tab.page.locator('nav a').allTextContents()
      for (const title of ['Audit', 'Policy', 'Storage', 'Providers'])
        expect(links).not.toContain(title)
      await tab.go('#/jobs')
      await tab.sees('There is no job yet. Enqueue one:')
      await tab.go('#/storage')
      await tab.sees('There is nothing here')
      expect(tab.troubles).toEqual([])
    },
    PATIENCE_MS,
  )
})

/** As the browser tells a page that its tab was left, and that somebody came back. */
async function hide(tab: Watched, isHidden: boolean): Promise<void> {
  const state = isHidden ? 'hidden' : 'visible'
  await tab.page.evaluate(
    `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }),
     document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

/** A page of somebody else's, which tries to get in and to put the page into a frame. */
async function other(url: string): Promise<[{ close(): Promise<unknown> }, string]> {
  const html = `<!doctype html><iframe src="${url}"></iframe><script>
    const socket = new WebSocket('${url.replace('http', 'ws')}ws')
    socket.onopen = () => { window.said = 'let in' }
    socket.onerror = () => { window.said = 'refused' }
  </script>`
  const pages: Server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(html)
  })
  pages.listen(0, '127.0.0.1')
  await once(pages, 'listening')
  const close = async (): Promise<void> => {
    pages.closeAllConnections()
    pages.close()
  }
  return [{ close }, `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`]
}
