import type { ProviderId } from '../encoding/ids.ts'
import type { QueuedJob, Shape } from '../order/queued-job.ts'
import { type AdmitRule, placeholdersIn } from '../policy/admit-policy.ts'
import type { Policy } from '../policy/policy.ts'

/** The need of a job on one limit: `fixed + perToken · tokens`. */
export interface Need {
  readonly key: string
  readonly fixed: number
  readonly perToken: number
}

export function amountOf({ fixed, perToken }: Need, { tokens }: Pick<QueuedJob, 'tokens'>): number {
  return fixed + perToken * Math.max(1, tokens)
}

/** The needs of all jobs of one shape. */
interface Plan {
  readonly rules: readonly AdmitRule[]
  /** The same at all providers; null if they depend on the provider. */
  readonly needs: readonly Need[] | null
  readonly byProvider: Map<ProviderId, readonly Need[]>
}

/** The policy's `admit` in usable form: which limits a job needs, and how much of each (ADMIT-2). */
export class AdmitRules {
  readonly #rules: readonly AdmitRule[]
  readonly #plans = new WeakMap<Shape, Plan>()
  /** True if jobs that differ only in their caller may need different limits. */
  readonly isByCaller: boolean

  constructor(rules: readonly AdmitRule[]) {
    this.#rules = rules
    this.isByCaller = rules.some((rule) => rule.caller !== null || names(rule, 'caller'))
  }

  /** The needs of a job at a provider. */
  needs({ shape }: Pick<QueuedJob, 'shape'>, providerId: ProviderId): readonly Need[] {
    const plan = this.#planOf(shape)
    if (plan.needs !== null) return plan.needs
    let needs = plan.byProvider.get(providerId)
    if (needs === undefined) {
      needs = needsOf(plan.rules, shape, providerId)
      plan.byProvider.set(providerId, needs)
    }
    return needs
  }

  /** True if any rule concerns such a job. */
  concern({ shape }: Pick<QueuedJob, 'shape'>): boolean {
    return this.#planOf(shape).rules.length > 0
  }

  /** True if the needs of a job depend on the provider. */
  isByProvider({ shape }: Pick<QueuedJob, 'shape'>): boolean {
    return this.#planOf(shape).needs === null
  }

  #planOf(shape: Shape): Plan {
    let plan = this.#plans.get(shape)
    if (plan === undefined) {
      const rules = this.#rules.filter((rule) => matches(rule, shape))
      const byProvider = rules.some((rule) => rule.providerId !== null || names(rule, 'provider'))
      const needs = byProvider ? null : needsOf(rules, shape, '' as ProviderId)
      plan = { rules, needs, byProvider: new Map() }
      this.#plans.set(shape, plan)
    }
    return plan
  }
}

/** Null if the policy has no rules: then nothing is checked. */
export function admitRulesOf({ admit }: Policy): AdmitRules | null {
  return admit.length === 0 ? null : new AdmitRules(admit)
}

/** A rule whose keys name the model concerns only jobs that have a model. */
function matches(rule: AdmitRule, shape: Shape): boolean {
  if (rule.kind !== null && rule.kind !== shape.kind) return false
  if (rule.model !== null && rule.model !== shape.model) return false
  if (rule.caller !== null && rule.caller !== shape.caller) return false
  return shape.model !== null || !names(rule, 'model')
}

function needsOf(
  rules: readonly AdmitRule[],
  shape: Shape,
  providerId: ProviderId,
): readonly Need[] {
  const needs = new Map<string, Need>()
  for (const rule of rules) {
    if (rule.providerId !== null && rule.providerId !== providerId) continue
    for (const { key: template, amount } of rule.requirements) {
      const key = filled(template, shape, providerId)
      const { fixed, perToken } = needs.get(key) ?? { fixed: 0, perToken: 0 }
      needs.set(
        key,
        amount === 'tokens'
          ? { key, fixed, perToken: perToken + 1 }
          : { key, fixed: fixed + amount, perToken },
      )
    }
  }
  return [...needs.values()]
}

function filled(template: string, { caller, model }: Shape, providerId: ProviderId): string {
  const values = { caller, model: model ?? '', provider: providerId }
  return template.replaceAll(/\{(caller|model|provider)\}/g, (_, name: keyof typeof values) => {
    return values[name]
  })
}

function names({ requirements }: AdmitRule, placeholder: string): boolean {
  return requirements.some(({ key }) => placeholdersIn(key).has(placeholder))
}
