import { FairleadError } from '@fairlead/core'
import {
  checkParams,
  idOf,
  METHODS,
  type Method,
  type MethodName,
  namedParams,
  RPC_ERRORS,
  type RpcErrorObject,
  readRequest,
  rpcErrorOf,
} from '@fairlead/protocol'
import { TokenBuckets } from '../auth/token-bucket.ts'
import { HANDLERS } from '../handlers/index.ts'
import type { Logger } from '../log.ts'
import type { RpcMeter } from '../metrics/rpc-meter.ts'
import type { Tracing } from '../trace/tracing.ts'
import type { Call, Handler, Services } from './call.ts'
import type { Answer, MessageFormat, Piece } from './message-format.ts'
import { requireScope } from './require-scope.ts'
import { Slots } from './slots.ts'
import type { Turns } from './turns.ts'

/** Methods that change something, and read so much beside it that they take the slots of those that only read. */
const READS_TOO: ReadonlySet<MethodName> = new Set(['signup.schedule'])

/** Methods that wait for something to happen; a bound of their own is on them. */
const WAITS: ReadonlySet<MethodName> = new Set(['aicf.pollLeases'])

/** A message's answer, ready to be sent; `error` is that of a single call. */
export interface Reply {
  readonly pieces: readonly Piece[]
  readonly isBatch: boolean
  readonly error?: RpcErrorObject
}

/** How much longer the answer to a batch may get. */
interface Room {
  bytes: number
}

/** Takes messages apart, checks them, and gives each call to its handler (RPC-2). */
export class Dispatcher {
  readonly #services: Services
  readonly #meter: RpcMeter
  readonly #tracing: Tracing | null
  readonly #logger: Logger
  readonly #rates: TokenBuckets
  readonly #turns: Turns
  readonly #reads: Slots
  readonly #writes: Slots
  #open = 0
  #tellIdle: () => void = () => {}

  constructor(
    services: Services,
    parts: {
      readonly meter: RpcMeter
      readonly tracing: Tracing | null
      readonly logger: Logger
      readonly turns: Turns
    },
  ) {
    const { requestsPerSecond, requestsBurst } = services.limits
    this.#services = services
    this.#meter = parts.meter
    this.#tracing = parts.tracing
    this.#logger = parts.logger
    this.#turns = parts.turns
    this.#reads = new Slots(services.limits.readsAtOnce)
    this.#writes = new Slots(services.limits.writesAtOnce)
    this.#rates = new TokenBuckets({ perSecond: requestsPerSecond, burst: requestsBurst })
  }

  /** Resolves when all calls have been answered that were made so far. */
  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#tellIdle = resolve
    })
  }

  /** Reads a message when it is its token's turn; null if it is none. */
  read(
    data: Uint8Array,
    { identity }: Call,
    format: MessageFormat,
  ): Promise<{ message: unknown } | null> {
    return this.#turns.read(identity.tokenId, () => {
      try {
        return { message: format.read(data) }
      } catch {
        return null
      }
    })
  }

  /** The answer to a message of any kind; null for nothing but notifications. */
  async answer(message: unknown, call: Call, format: MessageFormat): Promise<Reply | null> {
    if (!Array.isArray(message)) {
      const answer = await this.answerOne(message, call, format)
      return answer && single(await this.write(answer, call, format), answer)
    }
    const refusal = this.refuseBatch(message)
    if (refusal !== null) return single(format.answer(refusal), refusal)
    const room = { bytes: this.#services.limits.answerBytes }
    const written = await Promise.all(
      message.map(async (one) => {
        const answer = await this.answerOne(one, call, format, room)
        return answer && this.write(answer, call, format, room)
      }),
    )
    const pieces = written.filter((piece) => piece !== null)
    return pieces.length === 0 ? null : { pieces, isBatch: true }
  }

  /** Writes an answer, in the turn of its token where it may be long. In a batch it takes of the room there. */
  async write(
    answer: Answer,
    { identity }: Call,
    format: MessageFormat,
    room: Room = { bytes: this.#services.limits.answerBytes },
  ): Promise<Piece> {
    const isLong = answer.method !== null && METHODS[answer.method].access === 'read'
    const piece = isLong
      ? await this.#turns.run(identity.tokenId, () => format.answer(answer))
      : format.answer(answer)
    room.bytes -= piece.length
    if (room.bytes >= 0 || !isLong || answer.error !== undefined) return piece
    return format.answer({ ...answer, result: undefined, error: rpcErrorOf(this.#noRoom()) })
  }

  /** What a batch as a whole is refused with. */
  refuseBatch(batch: readonly unknown[]): Answer | null {
    if (batch.length === 0) return { id: null, method: null, error: RPC_ERRORS.invalidRequest }
    const max = this.#services.limits.batchCalls
    if (batch.length <= max) return null
    const text = `a batch of ${batch.length} calls is over the limit of ${max}; send it in parts`
    const error = new FairleadError('LimitExceeded', text, {
      limit: 'batch',
      max,
      observed: batch.length,
    })
    return { id: null, method: null, error: rpcErrorOf(error) }
  }

  /** Null for a notification, whatever became of it. */
  async answerOne(
    written: unknown,
    call: Call,
    format: MessageFormat,
    room: Room | null = null,
  ): Promise<Answer | null> {
    const request = readRequest(written)
    if (request === null) {
      this.#meter.count('unknown', 'InvalidRequest', 0)
      return { id: idOf(written), method: null, error: RPC_ERRORS.invalidRequest }
    }
    const { id, method: name } = request
    if (!Object.hasOwn(METHODS, name)) {
      this.#meter.count('unknown', 'MethodNotFound', 0)
      return id === undefined ? null : { id, method: null, error: methodNotFound(name) }
    }
    const method = name as MethodName
    const startedAt = performance.now()
    const endSpan = this.#tracing?.call(method, call.traceparent)
    this.#open++
    try {
      const result = await this.#carryOut(method, request.params, call, format, room)
      this.#meter.count(method, 'ok', performance.now() - startedAt)
      endSpan?.('ok')
      return id === undefined ? null : { id, method, result }
    } catch (thrown) {
      const error = this.#refusalOf(thrown, method, call)
      this.#meter.count(method, error.code, performance.now() - startedAt)
      endSpan?.(error.code)
      return id === undefined ? null : { id, method, error: rpcErrorOf(error) }
    } finally {
      if (--this.#open === 0) this.#tellIdle()
    }
  }

  /**
   * Checks a call and gives it to its handler, in the turn of its token. Each token has a few slots for calls that
   * only read, so that a heap of them cannot keep the store's thread from the writes of others, and more for those
   * that change something, so that it has no long queue in the engine, which takes first what came first (RPC-9).
   */
  async #carryOut(
    name: MethodName,
    params: unknown,
    call: Call,
    format: MessageFormat,
    room: Room | null,
  ): Promise<unknown> {
    const { tokenId } = call.identity
    const handler = HANDLERS[name] as Handler<MethodName>
    const handle = (checked: unknown) => handler(checked as never, call, this.#services)
    if (METHODS[name].access === 'write' && !READS_TOO.has(name)) {
      const step = () =>
        this.#turns.run(tokenId, () => handle(this.#check(name, params, call, format, room)))
      return WAITS.has(name) ? step() : this.#writes.run(tokenId, step)
    }
    const checked = await this.#turns.run(tokenId, () =>
      this.#check(name, params, call, format, room),
    )
    return this.#reads.run(tokenId, () =>
      this.#turns.run(tokenId, () => {
        // The answers before it may have come meanwhile.
        if (room !== null && room.bytes <= 0) throw this.#noRoom()
        return handle(checked)
      }),
    )
  }

  #check(
    name: MethodName,
    params: unknown,
    call: Call,
    format: MessageFormat,
    room: Room | null,
  ): unknown {
    const { identity } = call
    const wait = this.#rates.take(identity.tokenId, 1, performance.now())
    if (wait > 0) {
      throw new FairleadError('RateLimited', `too many calls; try again in ${wait} ms`, {
        retry_after_ms: wait,
      })
    }
    if (room !== null && room.bytes <= 0) throw this.#noRoom()
    const definition: Method = METHODS[name]
    if (identity.role !== 'admin' && !definition.roles.includes(identity.role)) {
      throw new FairleadError(
        'Forbidden',
        `${name} is not for the role ${identity.role}; it takes ${['admin', ...definition.roles].join(' or ')}`,
        { role: identity.role },
      )
    }
    const named = namedParams(format.params(name, params))
    if (named === null) {
      throw new FairleadError(
        'InvalidParams',
        'params: expected an object, or an array of one object',
        { field: 'params' },
      )
    }
    const checked = checkParams(definition.params, named)
    requireScope(name, checked as never, call, this.#services.engine.view)
    return checked
  }

  /** Of a call that was not carried out, or of one that only reads. */
  #noRoom(): FairleadError {
    const max = this.#services.limits.answerBytes
    return new FairleadError(
      'LimitExceeded',
      `the answer would be over the limit of ${max} bytes; this call changed nothing: send it in a smaller batch, or ask for a smaller page`,
      { limit: 'answer', max },
    )
  }

  /** What is not a refusal is a defect: it is logged with all there is, and told without. */
  #refusalOf(thrown: unknown, method: MethodName, call: Call): FairleadError {
    if (thrown instanceof FairleadError && thrown.code !== 'Internal') {
      if (thrown.code === 'Forbidden') this.#services.notes.forbidden(call.identity, method)
      return thrown
    }
    this.#logger.error({ err: thrown, method, request_id: call.requestId }, 'a call failed')
    return new FairleadError(
      'Internal',
      `the call failed inside of Fairlead; its log has more under ${call.requestId}`,
      { request_id: call.requestId },
    )
  }
}

function single(piece: Piece, { error }: Answer): Reply {
  return { pieces: [piece], isBatch: false, ...(error === undefined ? {} : { error }) }
}

function methodNotFound(name: string): RpcErrorObject {
  const shown = name.length > 64 ? `${name.slice(0, 63)}…` : name
  return { ...RPC_ERRORS.methodNotFound, message: `Method not found: ${shown}` }
}
