import { problemList } from '@fairlead/core/internal'
import { checkProviders } from '@fairlead/signup'
import { type Finding, fail, ok } from './check.ts'

/** The file of the booking sites, as `serve` and `signup` would read it; its secrets are not looked up. */
export function checkSites(path: string): Finding {
  const problems = checkProviders(path)
  if (problems.length === 0) return ok('booking sites', `${path} is in order.`)
  const advice = 'Correct these; until then neither serve nor signup starts with this file.'
  return fail('booking sites', problemList(problems), advice)
}
