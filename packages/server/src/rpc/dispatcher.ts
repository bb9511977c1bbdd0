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
import type { Answer, Form } from './form.ts'

/** Takes messages apart, checks them, and gives each call to its handler (RPC-2). */
export class Dispatcher {
  readonly #services: Services
  readonly #meter: RpcMeter
  readonly #tracing: Tracing | null
  readonly #logger: Logger
  readonly #rates: TokenBuckets
  #open = 0
  #tellIdle: () => void = () => {}

  constructor(
    services: Services,
    parts: { readonly meter: RpcMeter; readonly tracing: Tracing | null; readonly logger: Logger },
  ) {
    const { requestsPerSecond, requestsBurst } = services.limits
    this.#services = services
    this.#meter = parts.meter
    this.#tracing = parts.tracing
    this.#logger = parts.logger
    this.#rates = new TokenBuckets({ perSecond: requestsPerSecond, burst: requestsBurst })
  }

  /** Resolves when all calls have been answered that were made so far. */
  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#tellIdle = resolve
    })
  }

  /**
   * What a message of any kind is answered with: one answer, several as a batch, or null for nothing
   * but notifications.
   */
  async answer(message: unknown, call: Call, form: Form): Promise<Answer | Answer[] | null> {
    if (!Array.isArray(message)) return this.answerOne(message, call, form)
    const refusal = this.refuseBatch(message)
    if (refusal !== null) return refusal
    const answers = await Promise.all(message.map((one) => this.answerOne(one, call, form)))
    const wanted = answers.filter((answer) => answer !== null)
    return wanted.length === 0 ? null : wanted
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
  async answerOne(written: unknown, call: Call, form: Form): Promise<Answer | null> {
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
      const result = await this.#carryOut(method, request.params, call, form, startedAt)
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

  #carryOut(name: MethodName, params: unknown, call: Call, form: Form, nowMs: number): unknown {
    const { identity } = call
    const wait = this.#rates.take(identity.tokenId, 1, nowMs)
    if (wait > 0) {
      throw new FairleadError('RateLimited', `too many calls; try again in ${wait} ms`, {
        retry_after_ms: wait,
      })
    }
    const definition: Method = METHODS[name]
    if (identity.role !== 'admin' && !definition.roles.includes(identity.role)) {
      throw new FairleadError(
        'Forbidden',
        `${name} is not for the role ${identity.role}; it takes ${['admin', ...definition.roles].join(' or ')}`,
        { role: identity.role },
      )
    }
    const named = namedParams(form.params(name, params))
    if (named === null) {
      throw new FairleadError(
        'InvalidParams',
        'params: expected an object, or an array of one object',
        { field: 'params' },
      )
    }
    const checked = checkParams(definition.params, named)
    const handler = HANDLERS[name] as Handler<MethodName>
    return handler(checked as never, call, this.#services)
  }

  /** What is not a refusal is a defect: it is logged with all there is, and told without. */
  #refusalOf(thrown: unknown, method: MethodName, call: Call): FairleadError {
    if (thrown instanceof FairleadError && thrown.code !== 'Internal') {
      if (thrown.code === 'Forbidden') this.#services.notes.forbidden(call, method)
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

function methodNotFound(name: string): RpcErrorObject {
  const shown = name.length > 64 ? `${name.slice(0, 63)}…` : name
  return { ...RPC_ERRORS.methodNotFound, message: `Method not found: ${shown}` }
}
