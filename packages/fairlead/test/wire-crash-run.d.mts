import type { CrashReport } from '../../engine/test/crash-run.mjs'

export function runWireCrashes(options: {
  readonly kills: number
  readonly seed: number
  readonly onKill?: (kill: Readonly<Record<string, number>>) => void
}): Promise<CrashReport & { readonly resumed: number }>
