import type { AddressInfo } from 'node:net'
import { isIP } from 'node:net'
import { FairleadError } from '@fairlead/core'
import type { Engine } from '@fairlead/engine'
import { openRpcDocument } from '@fairlead/protocol'
import { AccessNotes } from './auth/access-notes.ts'
import { Authenticator } from './auth/authenticator.ts'
import type { TokenStore } from './auth/identity.ts'
import { EventHub } from './events/event-hub.ts'
import { Ownership } from './events/ownership.ts'
import { createHttpServer } from './http/http-server.ts'
import { RpcEndpoint } from './http/rpc-endpoint.ts'
import { DEFAULT_LIMITS, type ServerLimits } from './limits.ts'
import { type Logger, SILENT } from './log.ts'
import { EventMeter } from './metrics/event-meter.ts'
import { LoopLag } from './metrics/loop-lag.ts'
import type { MeteredStore } from './metrics/metered-store.ts'
import { meterCommits, meterState, newRegistry } from './metrics/metrics.ts'
import { RpcMeter } from './metrics/rpc-meter.ts'
import { ServerStats } from './metrics/server-stats.ts'
import type { Services } from './rpc/call.ts'
import { Dispatcher } from './rpc/dispatcher.ts'
import { JobSpans } from './trace/job-spans.ts'
import { Traces } from './trace/traces.ts'
import { startTracing } from './trace/tracing.ts'
import { PollDesk } from './workers/poll-desk.ts'
import { SocketGate } from './ws/socket-gate.ts'

export interface ServerOptions {
  readonly engine: Engine
  /** The store that the engine was opened on, for its metrics and for `/readyz`. */
  readonly store?: MeteredStore
  readonly listen: { readonly host: string; readonly port: number }
  /** Null, or one without tokens: on loopback everybody is a local admin, elsewhere it does not start. */
  readonly tokens?: TokenStore | null
  readonly logger?: Logger
  readonly limits?: Partial<ServerLimits>
  /** Pages of these origins may connect, beside the server's own. */
  readonly origins?: readonly string[]
  /** Where OpenTelemetry spans go, such as http://localhost:4318; left out, none are made. */
  readonly otlpEndpoint?: string
  readonly version?: string
}

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Takes no more, answers what was asked, tells workers, and is gone by the deadline at the latest. */
  close(deadlineMs?: number): Promise<void>
}

/** A write that takes longer than this is taken for one that is refused. */
const STUCK_MS = 5_000
const CLOSE_MS = 10_000

/** Puts an engine on the network. The engine stays its owner's: close it after the server. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { engine, listen, logger = SILENT, store, version = '0.1.0' } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const tokens = options.tokens ?? null
  refuseOpenAddress(listen.host, tokens)

  const origins = new Set(options.origins ?? [])
  const newRequestId = requestIds()
  const registry = newRegistry()
  const meter = new EventMeter(engine, registry)
  const stopMeter = await engine.onEvent((event) => meter.see(event))
  const lag = new LoopLag()
  const traces = new Traces()
  const { otlpEndpoint } = options
  const tracing = otlpEndpoint === undefined ? null : await startTracing(otlpEndpoint, version)
  const spans = new JobSpans({ traces, view: engine.view, tracing })
  const stopSpans = await engine.onEvent((event) => spans.see(event))
  const hub = await EventHub.open(engine)
  const notes = new AccessNotes((refusal) => engine.noteRefusal(refusal), logger)
  const authenticator = new Authenticator({
    tokens,
    isLoopback: isLoopback(listen.host),
    notes,
    refusals: { perSecond: limits.refusalsPerSecond, burst: limits.refusalsBurst },
  })
  const polls = new PollDesk({
    source: engine.leaseSource(),
    traces,
    logger,
    pollsMax: limits.polls,
  })
  const connections = () => ({ websocket: gate.size, polls: polls.open })
  const openRpc = lazily(() => openRpcDocument({ version }))
  const services: Services = {
    engine,
    hub,
    polls,
    stats: new ServerStats({ engine, meter, version, connections }),
    traces,
    notes,
    limits,
    openRpc,
    noteJob: (jobId, note) => {
      engine.noteJob(jobId, note).catch((err: unknown) => {
        logger.warn({ err, job_id: jobId }, 'what came with a job could not be noted')
      })
    },
  }
  const dispatcher = new Dispatcher(services, { meter: new RpcMeter(registry), tracing, logger })
  const ownership = new Ownership(engine.view)
  const gate = new SocketGate({
    dispatcher,
    authenticator,
    ownership,
    origins,
    limits,
    logger,
    newRequestId,
  })
  if (store !== undefined) meterCommits(registry, store)
  let isClosing = false
  const http = createHttpServer({
    rpc: new RpcEndpoint(dispatcher, authenticator, limits),
    authenticator,
    registry,
    refreshMetrics: meterState(registry, { engine, meter, lag, connections }),
    notReady: () => (isClosing ? 'the server shuts down' : notReady({ store, lag, limits })),
    openRpc,
    origins,
    limits,
    logger,
    newRequestId,
  })
  http.on('upgrade', (request, socket, head) => {
    gate.upgrade(request, socket, head).catch((err: unknown) => {
      logger.error({ err }, 'a WebSocket could not be opened')
      socket.destroy()
    })
  })
  http.on('clientError', (_, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(listen.port, listen.host, () => resolve())
  })
  const { port } = http.address() as AddressInfo
  const url = `http://${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${port}`
  logger.info({ url }, 'listening')
  if (authenticator.isOpen) {
    logger.warn({}, 'there are no tokens: everybody on this machine is a local admin')
  }

  let closing: Promise<void> | null = null
  const close = async (deadlineMs: number): Promise<void> => {
    isClosing = true
    const gone = new Promise<void>((resolve) => http.close(() => resolve()))
    http.closeIdleConnections()
    const atDeadline = setTimeout(() => {
      gate.terminate()
      http.closeAllConnections()
    }, deadlineMs)
    gate.announceClose(deadlineMs)
    await polls
      .close()
      .catch((err: unknown) => logger.warn({ err }, 'polls were not closed cleanly'))
    await Promise.race([dispatcher.idle(), gone])
    await gate.close()
    http.closeIdleConnections()
    await gone
    clearTimeout(atDeadline)
    hub.close()
    stopMeter()
    stopSpans()
    lag.close()
    await tracing?.close()
    await notes.close()
    logger.info({}, 'closed')
  }
  return {
    url,
    port,
    close: (deadlineMs = CLOSE_MS) => {
      closing ??= close(deadlineMs)
      return closing
    },
  }
}

/** AUTH-2: nobody else may reach a server that lets everybody in. */
function refuseOpenAddress(host: string, tokens: TokenStore | null): void {
  if (isLoopback(host) || (tokens !== null && !tokens.isEmpty())) return
  throw new FairleadError(
    'InvalidParams',
    `listen: ${host} can be reached from other machines, and there are no tokens; create one with "fairlead token create --role admin --subject <name>", or listen on 127.0.0.1`,
    { field: 'listen' },
  )
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function notReady(parts: {
  readonly store: MeteredStore | undefined
  readonly lag: LoopLag
  readonly limits: ServerLimits
}): string | null {
  const { failingSince = null, pendingSince = null } = parts.store?.health ?? {}
  if (failingSince !== null) return 'the store refuses writes'
  if (pendingSince !== null && performance.now() - pendingSince > STUCK_MS)
    return 'the store is stuck'
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
