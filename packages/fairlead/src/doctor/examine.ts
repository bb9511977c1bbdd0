import type { FairleadError } from '@fairlead/core'
import type { Config } from '../config/load-config.ts'
import { keyPath } from '../serve/seal-key.ts'
import { besideStore, isPostgres } from '../storage/store-address.ts'
import { filesWithWork } from '../storage/store-files.ts'
import { tokensPath } from '../tokens.ts'
import { type Finding, fail, ok, warn } from './check.ts'
import { checkArchive } from './check-archive.ts'
import { checkChain } from './check-chain.ts'
import { checkHooks } from './check-hooks.ts'
import { checkClock, checkFolder, checkNode, checkPermissions } from './check-host.ts'
import { checkPort, checkServer } from './check-port.ts'
import { checkPostgres } from './check-postgres.ts'
import { checkSites } from './check-providers.ts'
import { checkRedis } from './check-redis.ts'
import { checkStore } from './check-store.ts'
import { checkTls } from './check-tls.ts'
import { checkTokens, LOOPBACK } from './check-tokens.ts'
import { checkVerdict } from './check-verdict.ts'

/** All checks, each for itself: what is wrong with one hides nothing of the others. */
export async function examine(load: () => Promise<Config>): Promise<Finding[]> {
  const findings: Finding[] = [checkNode(process.versions.node)]
  let config: Config
  try {
    config = await load()
  } catch (error) {
    const { message } = error as FairleadError
    const advice = 'Correct these; the other checks need them.'
    return [...findings, checkClock(Date.now(), null), fail('configuration', message, advice)]
  }
  findings.push(configuration(config), ...environment(config))
  const { store, server, redis, signup } = config.settings
  if (signup.providers !== null) findings.push(checkSites(signup.providers))
  findings.push(...(await checkHooks(config)))
  findings.push(checkFolder(besideStore(store.path)))
  const stored = isPostgres(store.path)
    ? await checkPostgres(store.path)
    : await checkStore(store.path)
  findings.push(...stored.findings, checkClock(Date.now(), stored.beatMs))
  if (store.archive !== null) findings.push(checkArchive(store.archive))
  findings.push(
    checkPermissions([...filesWithWork(store.path), keyPath(store.path), tokensPath(config)]),
    checkTokens(config, stored.hadTokens),
  )
  findings.push(checkTls(config, LOOPBACK.test(server.host)))
  findings.push(await checkPort(server))
  const isServerNamed = config.origins.has('client.url')
  if (stored.isHeld || isServerNamed) findings.push(...(await runningServer(config)))
  if (redis.url !== null) findings.push(await checkRedis(redis.url))
  return findings
}

async function runningServer(config: Config): Promise<Finding[]> {
  const { url, token } = config.settings.client
  const server = await checkServer(url)
  // Nobody answers: there is nothing more to ask.
  if (server.status === 'warn') return [server]
  const chain = await checkChain(config)
  return [server, await checkVerdict(url, token), ...(chain === null ? [] : [chain])]
}

function configuration({ file, origins }: Config): Finding {
  const from = file === null ? 'no fairlead.yaml here, defaults' : file
  const count = origins.size === 1 ? '1 setting' : `${origins.size} settings`
  return ok('configuration', `${from}; ${count} given.`)
}

function environment({ warnings }: Config): Finding[] {
  const advice = 'If it is meant as a setting, correct its name; else unset it.'
  return warnings.map((text) => warn('environment', text, advice))
}
