import type { Config } from '../config/load-config.ts'
import { type Finding, ok, warn } from './check.ts'

const ANSWER_MS = 2_000
const REFUSED = /^fairlead_chain_blocks_refused (\d+)$/m

/** Has the running server refused blocks of its chain? Null where there is no chain, or nobody who may ask (CLAIM-5). */
export async function checkChain({ settings, policy }: Config): Promise<Finding | null> {
  const refused = await blocksRefused(settings.client)
  if (refused === null || (refused === 0 && policy.chain.source === 'none')) return null
  if (refused === 0) return ok('chain', 'The server has refused no block since its start.')
  const blocks = refused === 1 ? '1 block' : `${refused} blocks`
  const text = `Since its start the server has refused ${blocks}, which would have undone final ones.`
  const advice =
    'Compare the chain with your source of blocks: its reorganisation went deeper than chain.finality_k, or it is another chain. Nothing final was changed.'
  return warn('chain', text, advice)
}

async function blocksRefused({ url, token }: Config['settings']['client']): Promise<number | null> {
  const base = url.replace(/^ws/, 'http').replace(/\/+$/, '')
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const answer = await fetch(`${base}/metrics`, { headers, signal })
    const [, count] = REFUSED.exec(await answer.text()) ?? []
    return count === undefined ? null : Number(count)
  } catch {
    return null
  }
}
