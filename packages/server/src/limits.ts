import { MESSAGE_BYTES_MAX } from '@fairlead/protocol'

/** Every bound of the server: what it takes at most, and how long it waits. */
export interface ServerLimits {
  /** Of a request, and of a WebSocket message. */
  readonly bodyBytes: number
  /** Bodies of one token that are in memory at once. */
  readonly bodiesBytes: number
  /** Calls of a batch. */
  readonly batchCalls: number
  /** Of an answer; what comes beyond it in a batch is not carried out. */
  readonly answerBytes: number
  /** Calls of one token that only read, and calls that change something, at once. */
  readonly readsAtOnce: number
  readonly writesAtOnce: number
  /** Calls of one token. */
  readonly requestsPerSecond: number
  readonly requestsBurst: number
  /** Attempts without a right token from one address; more are not told why. */
  readonly refusalsPerSecond: number
  readonly refusalsBurst: number
  /** TCP connections, those of one address and of one token, and WebSockets among them. */
  readonly connections: number
  readonly connectionsPerAddress: number
  readonly connectionsPerToken: number
  readonly sockets: number
  /** Calls of one socket that are not answered yet; more are not read. */
  readonly callsPerSocket: number
  readonly subscriptionsPerSocket: number
  /** What may lie unsent for one socket before it is cut off. */
  readonly unsentBytes: number
  /** How long a reader of events, or of an answer over HTTP, may take nothing. */
  readonly stallMs: number
  readonly pingMs: number
  /** Long polls that are open. */
  readonly polls: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveMs: number
  /** Of the heap: what may be alive in it before enqueues are refused, in percent. */
  readonly heapSharePercent: number
  /** A loop that lags by more than this makes the server not ready. */
  readonly lagMs: number
}

export const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: MESSAGE_BYTES_MAX,
  bodiesBytes: 32 * 1024 * 1024,
  batchCalls: 1_000,
  answerBytes: 8 * 1024 * 1024,
  readsAtOnce: 2,
  writesAtOnce: 1_000,
  requestsPerSecond: 20_000,
  requestsBurst: 40_000,
  refusalsPerSecond: 10,
  refusalsBurst: 100,
  connections: 10_000,
  connectionsPerAddress: 2_000,
  connectionsPerToken: 2_000,
  sockets: 5_000,
  callsPerSocket: 4_096,
  subscriptionsPerSocket: 16,
  unsentBytes: 16 * 1024 * 1024,
  stallMs: 30_000,
  pingMs: 15_000,
  polls: 5_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 65_000,
  heapSharePercent: 25,
  lagMs: 2_000,
}
