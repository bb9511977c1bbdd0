import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The folder of the built page; null if its package is not there, or was not built. */
export function dashboardFolder(): string | null {
  const folder = packageFolder('@fairlead/dashboard')
  if (folder === null) return null
  const built = join(folder, 'dist')
  return existsSync(join(built, 'index.html')) ? built : null
}

/** The line about the page that `serve` and the demo say; null where nobody asked for one. */
export function dashboardLine({ dashboard, isWanted }: DashboardState): string | null {
  if (dashboard !== null) return `Dashboard: ${dashboard}`
  if (!isWanted) return null
  return 'Dashboard: not built; run "npm run build" in the checkout, or start with --no-dashboard.'
}

export interface DashboardState {
  /** The address of the page; null if there is none. */
  readonly dashboard: string | null
  /** False: it was switched off. */
  readonly isWanted: boolean
}

function packageFolder(name: string): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch {
    return null
  }
}
