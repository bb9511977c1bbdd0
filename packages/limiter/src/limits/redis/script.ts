import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisPort } from './redis-port.ts'

/** One script of `scripts/`, with what all of them share in front. */
export interface Script {
  readonly name: string
  readonly text: string
  readonly sha: string
}

const FOLDER = new URL('../../../src/limits/redis/scripts/', import.meta.url)
const SHARED = readFileSync(new URL('limit-state.lua', FOLDER), 'utf8')

export function loadScript(name: string): Script {
  const text = `${SHARED}\n${readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8')}`
  return { name, text, sha: createHash('sha1').update(text).digest('hex') }
}

/** One round trip; a second one when Redis was restarted or flushed and has forgotten the script. */
export async function runScript(
  redis: RedisPort,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(script.sha, keys.length, ...keys, ...args)
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return redis.eval(script.text, keys.length, ...keys, ...args)
  }
}
