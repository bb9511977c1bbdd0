import { showPolicy } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { Logger } from '@fairlead/server'
import { type Providers, ProvidersFile } from '@fairlead/signup'

export interface FollowedProviders {
  /** What people call a booking site, as the file says now. */
  readonly platformName: (platform: string) => string
  close(): void
}

/**
 * Keeps `sessions.platforms` of the policy as the file of the booking sites says, now and whenever it changes; all
 * else of the policy stays as it is in force. The server does not read the secrets of the file: it sends nothing.
 */
export async function followProviders(
  path: string,
  engine: Engine,
  logger: Logger,
): Promise<FollowedProviders> {
  const file = new ProvidersFile({
    path,
    watch: true,
    needsSecrets: false,
    onError: (err) => logger.error({ err }, 'the booking sites stay as they were'),
  })
  const apply = async ({ policySection }: Providers): Promise<void> => {
    const shown = showPolicy(engine.view.policy)
    const sessions = { ...(shown['sessions'] as object), platforms: policySection }
    await engine.setPolicy({ ...shown, sessions }, undefined, { actor: 'configuration' })
  }
  await apply(file.current)
  file.onChange((providers) => {
    apply(providers).then(
      () => logger.info({ path }, 'budgets of the booking sites are as the file says'),
      (err: unknown) => logger.error({ err }, 'the budgets of the booking sites stay as they were'),
    )
  })
  return {
    platformName: (platform) => file.current.get(platform).displayName,
    close: () => file.close(),
  }
}
