import type { RedisPort } from './redis-port.ts'

/** One script, with everything that it shares with others in front, and its SHA1 as Redis knows it. */
export interface Script {
  readonly text: string
  readonly sha: string
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
