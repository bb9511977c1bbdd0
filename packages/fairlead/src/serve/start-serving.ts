import { resolve } from 'node:path'
import { openEngine, threadedClose } from '@fairlead/engine'
import {
  createLogger,
  MeteredStore,
  refuseAddress,
  refuseOpen,
  startServer,
  type TokenStore,
} from '@fairlead/server'
import { openJobLogs } from '@fairlead/store/job-logs'
import type { Config } from '../config/load-config.ts'
import { hooksOf, refuseSecrets, secretsOf } from '../hooks/configured-hooks.ts'
import { startHooks } from '../hooks/start-hooks.ts'
import { jobLogsPath } from '../storage/store-files.ts'
import { shareFromFirstToken, shareQueue, withCallerShare } from './caller-share.ts'
import { type DashboardState, dashboardFolder } from './dashboard-folder.ts'
import { followProviders, openProviders } from './follow-providers.ts'
import { fundWarnings } from './fund-warnings.ts'
import { openServedStore } from './open-served-store.ts'
import { openRedisLimits } from './redis-limits.ts'
import { keyPath, sealKeys } from './seal-key.ts'
import { tlsPaths } from './tls-paths.ts'
import { withArchive } from './with-archive.ts'

export interface Serving extends DashboardState {
  readonly url: string
  /** Takes no more, answers what was asked, tells the workers, and closes the store. */
  close(): Promise<void>
}

interface Options {
  readonly config: Config
  readonly tokens: TokenStore
  /** Instead of what the configuration says. */
  readonly log?: Config['settings']['log']['level']
  /** Instead of what is configured. */
  readonly policy?: Readonly<Record<string, unknown>>
  /** False: the log does not say that the server listens and stops; the caller does. */
  readonly isAnnounced?: boolean
  /** `--insecure-local`. */
  readonly isInsecureLocal?: boolean
  /** True: where the key file is missing, a new key is made, and what was encrypted stays unreadable. */
  readonly mayReplaceKey?: boolean
}

/** The server as it is configured: store, engine and network, in this order; closed the other way round. */
export async function startServing(options: Options): Promise<Serving> {
  const {
    config,
    tokens,
    log,
    policy,
    isAnnounced = true,
    isInsecureLocal = false,
    mayReplaceKey: mayReplace = false,
  } = options
  const { settings, origins } = config
  const { host, port, shutdownMs, requestsPerSecond } = settings.server
  const tls = tlsPaths(settings.server)
  const logger = createLogger({ level: log ?? settings.log.level })
  // Nothing is made for a start that is refused, so all that can be looked at before is (FILES-2).
  const { providers } = settings.signup
  const [hooks, secrets] = [hooksOf(config), secretsOf(config)]
  refuseSecrets(hooks, secrets)
  const sitesFile = providers === null ? null : openProviders(providers, logger)
  let close = async (): Promise<void> => sitesFile?.close()
  try {
    await refuseAddress({ listen: { host, port }, tokens })
    const opened = await openServedStore(settings.store.path, logger)
    const store = new MeteredStore(withArchive(opened, settings.store, logger))
    close = async () => {
      sitesFile?.close()
      await store.close()
    }
    const isShared = policy === undefined && !tokens.isEmpty()
    const configured = isShared ? withCallerShare(config) : config.writtenPolicy
    const written = policy ?? configured
    const seal = await sealKeys(settings.store.path, opened, { mayReplace })
    const engine = await openEngine({
      store,
      policy: written ?? {},
      preset: settings.preset,
      sealKeys: seal.keys,
      computeClose: threadedClose,
      jobLogs: openJobLogs(jobLogsPath(settings.store.path)),
    })
    close = async () => {
      sitesFile?.close()
      await engine.close()
    }
    seal.keep()
    // Before the policy is put in force: a start that is refused changes nothing.
    refuseOpen({ engine, listen: { host, port }, tokens, isInsecureLocal })
    // The configuration goes over the policy that the store has from an earlier start.
    const isConfigured = (policy ?? config.writtenPolicy) !== null || origins.has('preset')
    if (isConfigured) {
      await engine.setPolicy(written ?? {}, settings.preset, { actor: 'configuration' })
    } else if (isShared) await shareQueue(engine, config)
    for (const warning of fundWarnings(engine.view.policy)) logger.warn({}, warning)
    const { otlpEndpoint } = settings.telemetry
    const platformName =
      sitesFile === null ? null : await followProviders(sitesFile, engine, logger)
    const limiter = await openRedisLimits(settings.redis, engine, logger)
    close = async () => {
      sitesFile?.close()
      await limiter?.close()
      await engine.close()
    }
    const running = await startHooks({ engine, hooks, secrets, logger })
    close = async () => {
      sitesFile?.close()
      await running.close()
      await limiter?.close()
      await engine.close()
    }
    const isWanted = settings.server.dashboard
    const folder = isWanted ? dashboardFolder() : null
    const server = await startServer({
      engine,
      store,
      keyFile: resolve(keyPath(settings.store.path)),
      listen: { host, port },
      tokens,
      logger,
      ...(tls === null ? {} : { tls }),
      isAnnounced,
      isInsecureLocal,
      basePath: settings.server.basePath ?? '',
      ...(folder === null ? {} : { dashboard: folder }),
      showsPayloads: settings.server.dashboardPayloads,
      ...(limiter === null ? {} : { limiter }),
      limits: {
        requestsPerSecond,
        requestsBurst: 2 * requestsPerSecond,
        connections: settings.server.connectionsMax,
        connectionsPerAddress: settings.server.connectionsPerAddress,
        connectionsPerToken: settings.server.connectionsPerToken,
        answerBytes: settings.server.answerBytesMax,
        heapSharePercent: settings.server.heapSharePercent,
      },
      origins: settings.server.allowedOrigins,
      hosts: settings.server.allowedHosts,
      trustedProxies: settings.server.trustedProxies,
      ...(otlpEndpoint === null ? {} : { otlpEndpoint }),
      serviceName: settings.signup.serviceName,
      ...(platformName === null ? {} : { platformName }),
    })
    const failed = (err: unknown): void =>
      logger.error({ err }, 'queue.max_per_caller stays without a limit')
    const stopSharing =
      policy === undefined ? shareFromFirstToken(tokens, engine, config, failed) : null
    return {
      url: server.url,
      dashboard: folder === null ? null : `${server.url}/`,
      isWanted,
      close: async () => {
        stopSharing?.()
        await server.close(shutdownMs)
        await close()
      },
    }
  } catch (error) {
    // Why it could not be started matters more than how it ends.
    await close().catch(() => undefined)
    throw error
  }
}
