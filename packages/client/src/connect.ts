import type { KindName, LeaseSource, Limiter } from '@fairlead/core'
import { Client, type ClientOptions, socketUrl } from './client.ts'
import { Prover, type ProverOptions } from './prover/prover.ts'
import { RemoteLimiter, type RemoteLimiterOptions } from './remote-limiter.ts'
import { steadyClock } from './steady-clock.ts'
import { warn } from './warn.ts'
import { WireLeaseSource } from './wire/lease-source.ts'
import { drainOnSignals } from './worker/drain-on-signals.ts'
import { type WithSchema, type Worker, type WorkerOptions, worker } from './worker/worker.ts'

/** A worker of a server; where its leases come from is known. */
export type RemoteWorkerOptions<Kind extends KindName, Value> = Omit<
  WorkerOptions<Kind, Value>,
  'source' | 'proving'
> & {
  /** Proves each completed lease of a kind that needs a proof. */
  readonly prover?: ProverOptions
  /** On SIGTERM and SIGINT it stops with this grace, and then the process ends; null: it does not. */
  readonly drainMs?: number | null
}

/** Kubernetes and systemd wait 30 s or more before they kill; this leaves time to say goodbye. */
const DRAIN_MS = 25_000

/** A client that can also serve leases. */
export class NodeClient extends Client {
  readonly #token: string | undefined

  constructor(url: string, options: ClientOptions = {}) {
    super(url, options)
    this.#token = options.token
  }

  /**
   * Serves a provider from this process: takes its leases over a WebSocket of its own, runs the handler
   * for each, renews, reports; and comes back to its leases when the connection was lost.
   */
  worker<const Kind extends KindName>(options: RemoteWorkerOptions<Kind, unknown>): Worker
  worker<const Kind extends KindName, Value>(
    options: RemoteWorkerOptions<Kind, Value> & WithSchema<Value>,
  ): Worker
  worker<const Kind extends KindName, Value>(
    options: RemoteWorkerOptions<Kind, Value> & Partial<WithSchema<Value>>,
  ): Worker {
    const { drainMs = DRAIN_MS, prover, ...rest } = options
    const source = this.leaseSource()
    const { providerId, clock = steadyClock, onError = warn } = rest
    const proving =
      prover === undefined
        ? {}
        : {
            proving: new Prover({
              ...{ client: this, source, providerId, clock, options: prover },
              onError: (error, job) => onError(error, job as never),
            }),
          }
    const serving = worker({ ...rest, ...proving, source } as unknown as WorkerOptions)
    if (drainMs !== null) drainOnSignals(serving, drainMs)
    return serving
  }

  /** Leases of the server, for a worker that is made elsewhere. */
  leaseSource(): LeaseSource {
    return new WireLeaseSource({ url: socketUrl(this.url), token: this.#token })
  }

  /** The limits of the server, over the connection of this client, which stays open when they are closed. */
  limiter(options: RemoteLimiterOptions = {}): Limiter {
    return new RemoteLimiter(this, options, async () => {})
  }
}

/** Connects to a server; `http://`, `https://`, `ws://` and `wss://` are all understood. */
export function connect(url: string, options: ClientOptions = {}): NodeClient {
  return new NodeClient(url, options)
}

/** The limits of a server, over a connection of their own. */
export function remoteLimiter(
  url: string,
  options: ClientOptions & RemoteLimiterOptions = {},
): Limiter {
  const { token: _token, timeoutMs: _timeoutMs, ...own } = options
  const client = new Client(url, options)
  return new RemoteLimiter(client, own, () => client.close())
}
