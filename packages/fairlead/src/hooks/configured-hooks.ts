import { dirname } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { problemList } from '@fairlead/core/internal'
import type { Config } from '../config/load-config.ts'
import type { SecretSource } from './deliver.ts'
import type { Hook } from './delivery.ts'
import { readSecret } from './hook-secret.ts'

/** The webhooks of a configuration. */
export function hooksOf({ settings }: Config): Hook[] {
  return Object.entries(settings.hooks).map(([id, hook]) => ({ id, ...hook }))
}

/** A file of a secret is meant from the folder of the configuration. */
export function secretsOf({ file }: Config): SecretSource {
  return { folder: file === null ? process.cwd() : dirname(file), env: process.env }
}

/** A line for each webhook whose secret cannot be used. */
export function secretProblems(hooks: readonly Hook[], secrets: SecretSource): string[] {
  return hooks.flatMap(({ id, secret }) => {
    try {
      readSecret({ reference: secret, ...secrets })
      return []
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      return [`hooks.${id}.${error.message}`]
    }
  })
}

/** Refuses a start with a webhook that could sign nothing. */
export function refuseSecrets(hooks: readonly Hook[], secrets: SecretSource): void {
  const problems = secretProblems(hooks, secrets)
  if (problems.length === 0) return
  throw new FairleadError(
    'InvalidParams',
    `the webhooks have ${problemList(problems)}\nNothing was started.`,
    { field: 'hooks', problems },
  )
}
