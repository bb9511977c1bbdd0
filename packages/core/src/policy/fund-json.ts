import { isPlainObject } from '../encoding/plain-object.ts'
import { FairleadError, invalidParams } from '../errors.ts'
import { ECONOMICS_FIELDS, economicsProblems } from './economics-policy.ts'
import type { FundPolicy } from './fund-hash.ts'
import { problemList, readSettings, showSettings } from './settings-table.ts'
import { SLA_FIELDS, slaProblems } from './sla-policy.ts'

const FUND_FIELDS = { economics: ECONOMICS_FIELDS, sla: SLA_FIELDS } as const

/** The settings that a batch names by their hash, in written form. */
export function showFundPolicy({ economics, sla }: FundPolicy): Record<string, unknown> {
  return showSettings(FUND_FIELDS, { economics, sla })
}

/** The same settings from their written form, or `InvalidParams` with all problems. */
export function readFundPolicy(json: unknown): FundPolicy {
  if (!isPlainObject(json)) throw invalidParams('policy', 'an object with economics and sla')
  const problems: string[] = []
  const policy = readSettings(FUND_FIELDS, json, { name: 'policy', problems })
  // Rules across settings mean something only where each of them is sound.
  if (problems.length === 0) {
    problems.push(...economicsProblems(policy.economics), ...slaProblems(policy.sla))
  }
  if (problems.length === 0) return policy
  throw new FairleadError('InvalidParams', `policy has ${problemList(problems)}`, {
    field: 'policy',
    problems,
  })
}
