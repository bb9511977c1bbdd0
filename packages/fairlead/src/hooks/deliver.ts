import type { Job } from '@fairlead/client'
import { AttemptFailure, PermanentFailure } from '@fairlead/client'
import type { Engine } from '@fairlead/engine'
import { AddressGuard, AddressRefused, type Resolve } from './address-guard.ts'
import { type DeliveryArgs, HOOK_CALLER, type Hook } from './delivery.ts'
import { readSecret, signedHeaders } from './hook-secret.ts'
import { post } from './post.ts'

/** Where secrets are looked up. */
export interface SecretSource {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

/** The most that an endpoint may ask a delivery to wait. */
const RETRY_AFTER_MAX_SECS = 3_600

/**
 * The handler of delivery jobs of one webhook: one POST for each attempt. An answer of 200 to 299 ends the job, all else is
 * a failure of the attempt, and the engine tries again after the backoff (HOOK-4).
 */
export function deliverer(
  hook: Hook,
  {
    engine,
    secrets,
    resolve,
  }: {
    readonly engine: Engine
    readonly secrets: SecretSource
    readonly resolve?: Resolve | undefined
  },
): (job: Job<'task'>) => Promise<void> {
  const guard = new AddressGuard(hook.allow, resolve)
  return async (job) => {
    const { id, body } = argsOf(job, engine)
    const keys = readSecret({ reference: hook.secret, ...secrets })
    const secs = Math.floor(Date.now() / 1_000)
    const deadline = AbortSignal.timeout(hook.timeoutMs)
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Fairlead',
      ...signedHeaders({ id, body, secs }, keys),
    }
    const signal = AbortSignal.any([deadline, job.signal])
    const answer = await post(hook.url, { body, headers, guard, signal }).catch(
      (cause: unknown) => {
        throw unanswered(cause, deadline.aborted ? hook.timeoutMs : null)
      },
    )
    if (answer.status >= 200 && answer.status < 300) return
    throw failure(
      `http_${answer.status}`,
      `the endpoint answered ${answer.status}`,
      answer.retryAfter,
    )
  }
}

/** Somebody else may enqueue tasks of this name. Nothing of them is signed. */
function argsOf({ jobId, payload }: Job<'task'>, engine: Engine): DeliveryArgs {
  const { id, body } = (payload.args ?? {}) as Partial<DeliveryArgs>
  const isOurs = engine.view.job(jobId)?.caller === HOOK_CALLER
  if (isOurs && typeof id === 'string' && typeof body === 'string') return { id, body }
  throw new PermanentFailure('invalid_input', 'this task is no delivery of a webhook')
}

function unanswered(cause: unknown, timeoutMs: number | null): AttemptFailure {
  if (timeoutMs !== null) return failure('timeout', `no answer within ${timeoutMs} ms`)
  if (cause instanceof AddressRefused) return failure('address_refused', cause.message)
  const { code = 'error' } = cause as NodeJS.ErrnoException
  return failure('network', `no answer: ${code}`)
}

function failure(code: string, message: string, retryAfter?: string): AttemptFailure {
  const secs = /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) : null
  return new AttemptFailure({
    code,
    message,
    permanent: false,
    ...(secs === null ? {} : { retryAfterMs: 1_000 * Math.min(secs, RETRY_AFTER_MAX_SECS) }),
  })
}
