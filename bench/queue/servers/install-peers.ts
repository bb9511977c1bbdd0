import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PEERS } from '../peer.ts'

/**
 * Installs the locked packages of `bench/peers`, unless they are there. Gives what went wrong, or null:
 * without the peers Fairlead is measured alone. `isLight` leaves out what takes minutes to compile.
 */
export function installPeers(say: (text: string) => void, isLight = false): string | null {
  const stamp = join(PEERS, 'node_modules', '.fairlead')
  const digest = createHash('sha256')
    .update(process.versions.modules)
    .update(readFileSync(join(PEERS, 'package-lock.json')))
    .digest('hex')
  const light = `${digest} light`
  const found = existsSync(stamp) ? readFileSync(stamp, 'utf8') : null
  if (found === digest || (isLight && found === light)) return null
  const note = isLight ? '' : '; better-sqlite3 may take two minutes to compile'
  say(`installing the peers (npm ci in bench/peers${note})`)
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  if (isLight) args.push('--omit=optional')
  // npm tells its scripts where it is; on its own it may be a shell script or a .cmd file.
  const cli = process.env['npm_execpath']
  const [program, all] = cli?.endsWith('.js') ? [process.execPath, [cli, ...args]] : ['npm', args]
  const { status, error } = spawnSync(program, all, { cwd: PEERS, stdio: ['ignore', 2, 2] })
  if (status !== 0) return `npm ci in bench/peers failed${error ? `: ${error.message}` : ''}`
  writeFileSync(stamp, isLight ? light : digest)
  return null
}
