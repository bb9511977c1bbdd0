import { showPolicy } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import type { Logger } from '@fairlead/server'
import { type Providers, ProvidersFile } from '@fairlead/signup'

/**
 * The file of the booking sites; throws where it is wrong. The server does not read the secrets of the file: it sends
 * nothing.
 */
export function openProviders(path: string, logger: Logger): ProvidersFile {
  return new ProvidersFile({
    path,
    watch: true,
    needsSecrets: false,
    onError: (err) => logger.error({ err }, 'the booking sites stay as they were'),
  })
}

/**
 * Keeps `sessions.platforms` of the policy as the file of the booking sites says, now and whenever it changes; all
 * else of the policy stays as it is in force. Gives how people call a booking site, as the file says it then.
 */
export async function followProviders(
  file: ProvidersFile,
  engine: Engine,
  logger: Logger,
): Promise<(platform: string) => string> {
  const apply = async ({ policySection }: Providers): Promise<void> => {
    const shown = showPolicy(engine.view.policy)
    const sessions = { ...(shown['sessions'] as object), platforms: policySection }
    await engine.setPolicy({ ...shown, sessions }, undefined, { actor: 'configuration' })
  }
  await apply(file.current)
  file.onChange((providers) => {
    apply(providers).then(
      () => logger.info({}, 'budgets of the booking sites are as the file says'),
      (err: unknown) => logger.error({ err }, 'the budgets of the booking sites stay as they were'),
    )
  })
  return (platform) => file.current.get(platform).displayName
}
