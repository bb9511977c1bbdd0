import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisPort } from './redis-port.ts'

/** One script of a folder, with what all of them share in front. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** Scripts are read from `src`, also by what was built: they are files of their own. */
const SOURCE = new URL('../../../src/', import.meta.url)

const PRELUDE = readFileSync(new URL('limits/redis/scripts/prelude.lua', SOURCE), 'utf8')

/** For a folder below `src` and the part that its scripts share: a function that loads one by its name. */
export function scriptsIn(folder: string, shared: string): (name: string) => Script {
  const read = (name: string): string =>
    readFileSync(new URL(`${folder}/${name}.lua`, SOURCE), 'utf8')
  const before = `${PRELUDE}\n${read(shared)}`
  return (name) => {
    const text = `${before}\n${read(name)}`
    return { text, sha: createHash('sha1').update(text).digest('hex') }
  }
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
