import { spawnSync } from 'node:child_process'
import { aptInstall } from './apt-install.ts'

/** What it needs to run without a screen, without a user, and without calling anybody. */
export const CHROMIUM_ARGS: readonly string[] = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of a browser: `CHROMIUM_PATH`, one on PATH, or Debian's, which is installed where that is allowed. */
export function chromiumPath(): string {
  const given = process.env['CHROMIUM_PATH']
  if (given !== undefined) return given
  const found = onPath()
  if (found !== null) return found
  aptInstall('chromium')
  const installed = onPath()
  if (installed !== null) return installed
  throw new Error('no chromium on PATH; install it, or set CHROMIUM_PATH to a Chromium or Chrome')
}

function onPath(): string | null {
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
  return null
}
