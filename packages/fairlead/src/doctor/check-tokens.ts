import type { FairleadError } from '@fairlead/core'
import type { Config } from '../config/load-config.ts'
import { openTokens, tokensPath } from '../tokens.ts'
import { type Finding, fail, ok } from './check.ts'

export const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Tokens may be missing only where nobody else can reach the server. */
export function checkTokens(config: Config, hadTokens: boolean): Finding {
  const path = tokensPath(config)
  const { host } = config.settings.server
  try {
    const tokens = openTokens(config).list()
    const valid = tokens.filter(({ revokedAt, expiresAt }) => {
      return revokedAt === null && (expiresAt === null || expiresAt > Date.now())
    })
    if (valid.length > 0) return ok('tokens', `${valid.length} valid ones in ${path}.`)
    if (tokens.length === 0 && hadTokens) {
      const text = `The store had tokens, and there are none in ${path}: the server does not start.`
      return fail('tokens', text, 'Restore the file, or create tokens anew: fairlead token create.')
    }
    if (tokens.length === 0 && LOOPBACK.test(host)) {
      return ok(
        'tokens',
        `There are none; whoever reaches ${host} on this machine is a local admin.`,
      )
    }
    const advice = 'Make one: fairlead token create --role admin --subject <name>'
    const text = tokens.length === 0 ? `Without any, the server refuses ${host}.` : 'None is valid.'
    return fail('tokens', text, advice)
  } catch (error) {
    return fail('tokens', (error as FairleadError).message, `Restore ${path} from a copy.`)
  }
}
