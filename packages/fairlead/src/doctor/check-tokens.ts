import { existsSync } from 'node:fs'
import type { Config } from '../config/load-config.ts'
import { type Finding, fail, ok } from './check.ts'

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Tokens may be missing only where nobody else can reach the server. */
export function checkTokens({ settings }: Config): {
  readonly path: string
  readonly finding: Finding
} {
  const path = settings.tokens.path ?? `${settings.store.path}.tokens.json`
  const { host } = settings.server
  if (existsSync(path)) return { path, finding: ok('tokens', `They are in ${path}.`) }
  if (LOOPBACK.test(host)) {
    const text = `There are none; whoever reaches ${host} on this machine is a local admin.`
    return { path, finding: ok('tokens', text) }
  }
  const advice = 'Make one first: fairlead token create --role admin --subject <name>'
  return { path, finding: fail('tokens', `Without any, the server refuses ${host}.`, advice) }
}
