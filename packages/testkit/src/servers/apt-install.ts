import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Installs Debian's package of a name, where that is allowed; says so, because it takes a moment. */
export function aptInstall(name: string): void {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return
  console.error(`installing ${name} (apt-get) …`)
  const apt = (...args: readonly string[]) =>
    spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 2],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0
  const install = () => apt('install', '-y', '-q', '--no-install-recommends', name)
  // On a fresh machine the lists of packages may be missing or old.
  if (!install() && apt('update', '-q')) install()
}
