import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Limiter } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import { openRpcDocument } from '@fairlead/protocol'
import type { Registry } from 'prom-client'
import { AccessNotes } from './auth/access-notes.ts'
import { Authenticator } from './auth/authenticator.ts'
import { TokenWatch } from './auth/token-watch.ts'
import { CallerNames } from './dashboard/caller-names.ts'
import { Figures } from './dashboard/figures.ts'
import { History } from './dashboard/history.ts'
import { PageFiles } from './dashboard/page-files.ts'
import { STUCK_MS } from './dashboard/server-checks.ts'
import { EventHub } from './events/event-hub.ts'
import { Ownership } from './events/ownership.ts'
import { SettlementDesk } from './fund/settlement-desk.ts'
import { HeapGuard } from './heap-guard.ts'
import { BasePath } from './http/base-path.ts'
import { Bodies } from './http/body.ts'
import { Connections } from './http/connections.ts'
import { createHttpServer } from './http/http-server.ts'
import { LimitsEndpoint } from './http/limits-endpoint.ts'
import { openRpcAsFile } from './http/openrpc-file.ts'
import { OwnNames } from './http/own-names.ts'
import { RpcEndpoint } from './http/rpc-endpoint.ts'
import { TlsFiles } from './http/tls-files.ts'
import { TrustedProxies } from './http/trusted-proxies.ts'
import { LimitOwners } from './limit-owners.ts'
import { DEFAULT_LIMITS, type ServerLimits } from './limits.ts'
import { type Logger, SILENT } from './log.ts'
import { EventMeter } from './metrics/event-meter.ts'
import { HttpMeter } from './metrics/http-meter.ts'
import { LoopLag } from './metrics/loop-lag.ts'
import { meteredLimiter } from './metrics/metered-limiter.ts'
import type { MeteredStore } from './metrics/metered-store.ts'
import { meterAppends, meterState, meterStorage, newRegistry } from './metrics/metrics.ts'
import { RpcMeter } from './metrics/rpc-meter.ts'
import { ServerStats } from './metrics/server-stats.ts'
import { SignupMeter } from './metrics/signup-meter.ts'
import { Dispatcher } from './rpc/dispatcher.ts'
import { Turns } from './rpc/turns.ts'
import { isLoopback, type ServerOptions } from './server-options.ts'
import { Registrations } from './signup/registrations.ts'
import { SignupDesk } from './signup/signup-desk.ts'
import { StorageDesk } from './storage-desk.ts'
import { JobSpans } from './trace/job-spans.ts'
import { startTracing, type Tracing } from './trace/tracing.ts'
import { PollDesk } from './workers/poll-desk.ts'
import { ProviderPulse } from './workers/provider-pulse.ts'
import { SocketGate } from './ws/socket-gate.ts'

/** The parts of a server that has not begun to listen. */
export interface Assembled {
  readonly http: Server
  readonly gate: SocketGate
  readonly polls: PollDesk
  readonly dispatcher: Dispatcher
  readonly authenticator: Authenticator
  readonly logger: Logger
  readonly basePath: BasePath
  /** `/readyz` fails from now on. */
  readonly beginClose: () => void
  /** Stops watching the engine, and writes what is left to write. */
  readonly dispose: () => Promise<void>
}

/** The composition root: every part is made here, and given what it needs. */
export async function assemble(options: ServerOptions): Promise<Assembled> {
  const {
    engine,
    listen,
    logger = SILENT,
    store,
    tokens = null,
    serviceName = 'Fairlead',
    platformName = (platform) => platform,
    version = '0.1.0',
  } = options
  const basePath = new BasePath(options.basePath ?? '')
  const tls = options.tls === undefined ? null : new TlsFiles(options.tls)
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const newRequestId = requestIds()
  const openRpc = lazily(() => openRpcDocument({ version }))
  const openRpcFile = lazily(() => openRpcAsFile(openRpc()))
  const turns = new Turns()

  const watch = await startWatch({
    engine,
    otlpEndpoint: options.otlpEndpoint,
    version,
    serviceName,
    platformName,
  })
  const { registry, meter, signup, lag, tracing } = watch
  const storage = new StorageDesk({
    engine,
    store: store ?? null,
    keyFile: options.keyFile ?? null,
  })
  if (store !== undefined) {
    meterAppends(registry, store, logger)
    meterStorage(registry, storage)
  }
  const heap = new HeapGuard({
    sharePercent: limits.heapSharePercent,
    jobs: () => engine.view.jobsInMemory,
  })
  const hub = await EventHub.open(engine)
  const notes = new AccessNotes((note) => engine.note(note), logger)
  const authenticator = new Authenticator({
    tokens,
    isLoopback: isLoopback(listen.host),
    notes,
    refusals: { perSecond: limits.refusalsPerSecond, burst: limits.refusalsBurst },
  })
  const source = engine.leaseSource()
  const polls = new PollDesk({ source, logger, pollsMax: limits.polls })
  const connections = () => ({ websocket: gate.size, polls: polls.open })
  const limiter = meteredLimiter(limiterOf(options.limiter, engine.limiter), registry, (excess) => {
    meter.addExcess(excess.length)
    // One line a call, whatever was sent in it.
    logger.warn({ excess: excess.slice(0, 4), of: excess.length }, 'usage was not booked')
  })
  const history = new History(engine, meter, (nowMs) => storage.sample(nowMs))
  const figures = new Figures({
    ...{ engine, store: store ?? null, lag, heap, limits, meter },
    names: new CallerNames(tokens),
  })
  const stats = new ServerStats({ engine, meter, version, connections, heap, figures })
  const dispatcher = new Dispatcher(
    {
      engine,
      hub,
      polls,
      pulse: new ProviderPulse(engine),
      limiter,
      limitOwners: new LimitOwners(engine.view, limiter, options.limiter !== undefined),
      stats,
      figures,
      history,
      meter,
      shown: { version, payloads: options.showsPayloads ?? true },
      storage,
      settlements: new SettlementDesk(engine),
      signup,
      notes,
      heap,
      limits,
      openRpc,
    },
    { meter: new RpcMeter(registry), tracing, logger, turns },
  )
  const ownership = new Ownership(engine.view)
  const proxies = new TrustedProxies(options.trustedProxies ?? [])
  const connected = new Connections(limits, proxies)
  const { hosts = [], origins = [] } = options
  const names = new OwnNames({ listenHost: listen.host, hosts, origins })
  const common = {
    dispatcher,
    authenticator,
    connections: connected,
    names,
    basePath,
    limits,
    logger,
    newRequestId,
  }
  const endpoints = { ...common, bodies: new Bodies(limits) }
  const gate = new SocketGate({ ...common, ownership })
  const tokenWatch =
    tokens === null
      ? null
      : new TokenWatch({
          tokens,
          engine,
          logger,
          endOver: async () => {
            await gate.endOver()
            await polls.endOver((identity) => authenticator.endOf(identity))
          },
        })
  await tokenWatch?.note()
  const page =
    options.dashboard === undefined ? null : PageFiles.read(options.dashboard, basePath.text)
  let isClosing = false
  const http = createHttpServer({
    ...common,
    rpc: new RpcEndpoint(endpoints),
    limiting: new LimitsEndpoint(endpoints),
    notes,
    registry,
    meter: new HttpMeter(registry),
    refreshMetrics: meterState(registry, {
      engine,
      meter,
      signupMeter: signup.meter,
      lag,
      connections,
      heap,
    }),
    notReady: () => (isClosing ? 'the server shuts down' : notReady({ store, lag, limits })),
    openRpc: openRpcFile,
    page,
    turns,
    tls,
  })
  const unfollow = tls?.follow(http as HttpsServer, logger)
  http.on('upgrade', (request, socket, head) => {
    gate.upgrade(request, socket, head).catch((err: unknown) => {
      logger.error({ err }, 'a WebSocket could not be opened')
      socket.destroy()
    })
  })
  return {
    http,
    gate,
    polls,
    dispatcher,
    authenticator,
    logger,
    basePath,
    beginClose: () => {
      isClosing = true
    },
    dispose: async () => {
      tokenWatch?.close()
      unfollow?.()
      hub.close()
      heap.close()
      history.close()
      await watch.close()
      await notes.close()
    },
  }
}

interface Watch {
  readonly registry: Registry
  readonly meter: EventMeter
  readonly signup: SignupDesk
  readonly lag: LoopLag
  readonly tracing: Tracing | null
  readonly close: () => Promise<void>
}

/**
 * A limiter elsewhere has only what is reserved. Definitions are kept in the engine as well, and first: there
 * they are durable, in the audit log, and known to the queue (HTTP-5).
 */
function limiterOf(elsewhere: Limiter | undefined, own: Limiter): Limiter {
  if (elsewhere === undefined) return own
  return {
    define: async (limit, by) => {
      await own.define(limit, by)
      return elsewhere.define(limit, by)
    },
    reset: async (key, by) => {
      await own.reset(key, by)
      return elsewhere.reset(key, by)
    },
    delete: async (key, by) => {
      const wasHere = await own.delete(key, by)
      return (await elsewhere.delete(key, by)) || wasHere
    },
    list: () => elsewhere.list(),
    get: (key) => elsewhere.get(key),
    reserve: (request) => elsewhere.reserve(request),
    complete: (request) => elsewhere.complete(request),
    reserveMany: (requests) => elsewhere.reserveMany(requests),
    completeMany: (requests) => elsewhere.completeMany(requests),
    close: () => elsewhere.close(),
  }
}

/** What looks on while others work: metrics and traces. */
async function startWatch(parts: {
  readonly engine: Engine
  readonly otlpEndpoint: string | undefined
  readonly version: string
  readonly serviceName: string
  readonly platformName: (platform: string) => string
}): Promise<Watch> {
  const { engine, otlpEndpoint, version, serviceName, platformName } = parts
  const tracing = otlpEndpoint === undefined ? null : await startTracing(otlpEndpoint, version)
  const registry = newRegistry()
  const meter = new EventMeter(engine, registry)
  const signup = new SignupDesk({
    engine,
    serviceName,
    platformName,
    meter: new SignupMeter(engine, registry),
    registrations: new Registrations(engine),
  })
  const spans = tracing === null ? null : new JobSpans(engine.view, tracing)
  const stop = await engine.onEvent((event) => {
    meter.see(event)
    signup.see(event)
    spans?.see(event)
  })
  const lag = new LoopLag()
  return {
    registry,
    meter,
    signup,
    lag,
    tracing,
    close: async () => {
      stop()
      lag.close()
      await tracing?.close()
    },
  }
}

function notReady(parts: {
  readonly store: MeteredStore | undefined
  readonly lag: LoopLag
  readonly limits: ServerLimits
}): string | null {
  const { failingSince = null, pendingSince = null } = parts.store?.health ?? {}
  if (failingSince !== null) return 'the store refuses writes'
  const isStuck = pendingSince !== null && performance.now() - pendingSince > STUCK_MS
  if (isStuck) return 'the store is stuck'
  return parts.lag.ms > parts.limits.lagMs ? 'the event loop lags' : null
}

/** Short, and different for each start of the server. */
function requestIds(): () => string {
  const start = Math.floor(Math.random() * 2 ** 32).toString(36)
  let count = 0
  return () => `${start}-${(++count).toString(36)}`
}

function lazily<Value>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}
