import { connect } from '@fairlead/client'
import type { FairleadError } from '@fairlead/core'
import { escaped } from '../terminal/escaped.ts'
import { type Finding, ok, warn } from './check.ts'

const ANSWER_MS = 2_000

/** Is it fine, and if not, what holds work up? The server's own words (FIGURE-5). */
export async function checkVerdict(url: string, token: string | null): Promise<Finding> {
  const client = connect(url, { timeoutMs: ANSWER_MS, ...(token === null ? {} : { token }) })
  try {
    const { status, text, problems } = await client.call('stats.verdict', {})
    if (status === 'fine') return ok('work', escaped(text))
    const advice = problems[0]?.advice ?? 'See fairlead top, or the dashboard.'
    return warn('work', escaped(text), escaped(advice))
  } catch (error) {
    const { code, message } = error as FairleadError
    const isForbidden = code === 'Unauthorized' || code === 'Forbidden'
    const advice = isForbidden
      ? 'Give it a token of an operator or auditor: set FAIRLEAD_TOKEN.'
      : 'Ask again; if it stays so, look at the log of the server.'
    return warn('work', `Unknown: ${escaped(message)}`, advice)
  } finally {
    await client.close()
  }
}
