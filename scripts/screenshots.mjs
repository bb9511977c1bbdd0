// `npm run screenshots`: the pictures of the dashboard in docs/images, taken from a running demo. A picture that
// is larger than it should be is an error: the repository is no album.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CHROMIUM_ARGS, chromiumPath } from '@fairlead/testkit/chromium'
import { chromium } from 'playwright-core'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'docs', 'images')
const BYTES_MAX = 150_000
const WIDTH = 1_200
const JOBS = 1_200

const demo = spawn(
  process.execPath,
  [join(root, 'packages/fairlead/bin/fairlead.mjs'), 'demo', '--jobs', String(JOBS)],
  { stdio: ['ignore', 'pipe', 'pipe'] },
)
try {
  const { url, token } = await logIn(demo)
  await take(url, token)
} finally {
  const gone = once(demo, 'exit')
  demo.kill('SIGINT')
  await gone
}

/** The address and the token that the demo prints. */
async function logIn({ stdout, stderr }) {
  const found = {}
  for (const stream of [stdout, stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      found.url ??= /Dashboard: (\S+)/.exec(line)?.[1]
      found.token ??= /Its token: (\S+)/.exec(line)?.[1]
    })
  }
  while (found.url === undefined || found.token === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return found
}

async function take(url, token) {
  mkdirSync(folder, { recursive: true })
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [...CHROMIUM_ARGS],
  })
  const context = await browser.newContext({ colorScheme: 'light', timezoneId: 'Europe/Berlin' })
  await context.addInitScript(`sessionStorage.setItem('fairlead.token', '${token}')`)
  const page = await context.newPage()
  const show = async (hash, height, colorScheme = 'light') => {
    await page.setViewportSize({ width: WIDTH, height })
    await page.emulateMedia({ colorScheme })
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    // The charts need some steps, and figures a moment.
    await page.waitForTimeout(2_500)
  }
  const save = async (name) => {
    const path = join(folder, `dashboard-${name}.png`)
    await page.screenshot({ path })
    const { size } = statSync(path)
    console.log(`${path} ${size} bytes`)
    if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes; at most ${BYTES_MAX}`)
  }
  await page.goto(url)
  await page.waitForSelector('[data-line="live"]')
  await page
    .getByText(/task jobs? wait/)
    .first()
    .waitFor()
  await show('#/waiting', 640)
  await save('waiting')
  await show('#/fairness', 640)
  await save('fairness')
  await show('#/budgets', 560)
  await save('budgets')
  await show('#/sessions/swimclub/north/beginners-tue', 640)
  await page.getByText('It is open').waitFor()
  await page.waitForTimeout(2_000)
  await save('session')
  await show('#/', 760)
  await save('overview')
  await show('#/', 760, 'dark')
  await save('overview-dark')
  await show('#/jobs?filter=status%3AFAILED+kind%3Atask', 640)
  await page.locator('.line a').first().click()
  await show(await page.evaluate('location.hash'), 760)
  await save('job')
  await browser.close()
}
