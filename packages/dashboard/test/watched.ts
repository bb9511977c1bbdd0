import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { CHROMIUM_ARGS, chromiumPath } from '@fairlead/testkit/chromium'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'

/** A machine that is busy with other tests may take its time. */
export const PATIENCE_MS = 120_000
/** For one step, so that a test that fails names it. */
const STEP_MS = 30_000
export const POLL = { timeout: STEP_MS, interval: 20 } as const

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly {
    readonly html: string
    readonly any?: readonly { message: string }[]
  }[]
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: [...CHROMIUM_ARGS] })
}

/** A tab of which everything is written down that no user should ever meet. */
export class Watched {
  readonly page: Page
  /** Errors on the console, uncaught ones, and requests to anywhere else. */
  readonly troubles: string[] = []
  readonly #context: BrowserContext

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context
    this.page = page
  }

  /** `url` is the page's own; what goes elsewhere is a trouble. */
  static async open(
    browser: Browser,
    url: string,
    { token, isKept = true, path = '' }: { token?: string; isKept?: boolean; path?: string } = {},
  ): Promise<Watched> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 860 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
      acceptDownloads: true,
    })
    if (token !== undefined && isKept) {
      await context.addInitScript(`sessionStorage.setItem('fairlead.token', '${token}')`)
    }
    const page = await context.newPage()
    page.setDefaultTimeout(STEP_MS)
    const watched = new Watched(context, page)
    page.on('console', (said) => {
      if (said.type() === 'error' || said.type() === 'warning') watched.troubles.push(said.text())
    })
    page.on('pageerror', (error) => watched.troubles.push(error.stack ?? error.message))
    const { host } = new URL(url)
    const check = (asked: string): void => {
      const { host: other, protocol } = new URL(asked)
      if (other !== host && protocol !== 'blob:') watched.troubles.push(`asked ${asked}`)
    }
    page.on('request', (request) => check(request.url()))
    page.on('websocket', (socket) => check(socket.url()))
    await page.goto(`${url}${path}`)
    return watched
  }

  /** To a screen, by its address; resolves when its title is there and it has an answer. */
  async go(hash: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await this.page.locator('main h1').first().waitFor()
    // Also of the parts that come with the first of them.
    await expect.poll(() => this.page.getByText('Loading …').count(), POLL).toBe(0)
  }

  /** Resolves when a text is on the page. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor()
  }

  /** A button; of the dialog, where one is open. */
  async press(name: string | RegExp): Promise<void> {
    const options = { name, exact: typeof name === 'string' }
    const dialog = this.page.locator('dialog[open]')
    const inDialog = dialog.getByRole('button', options)
    // A dialog whose work is done is about to close.
    const isClosing = async (): Promise<boolean> =>
      (await dialog.count()) > 0 && (await inDialog.count()) === 0
    await expect.poll(isClosing, POLL).toBe(false)
    const isInDialog = (await inDialog.count()) > 0
    await (isInDialog ? inDialog : this.page.getByRole('button', options)).last().click()
  }

  /** What axe finds wrong, in a line each. */
  async violations(): Promise<string[]> {
    await this.page.evaluate(AXE)
    const found = (await this.page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
    )) as readonly Violation[]
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ html, any }) => `${id}: ${html.slice(0, 160)} ${any?.[0]?.message ?? ''}`),
    )
  }

  /** How far the page is wider than its window. */
  async overflow(): Promise<number> {
    return (await this.page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
  }

  /** The tables of which a part is out of sight. */
  async cutTables(): Promise<string[]> {
    return (await this.page.evaluate(
      "[...document.querySelectorAll('.table')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)",
    )) as string[]
  }

  close(): Promise<void> {
    return this.#context.close()
  }
}
