import {
  type CompleteAnswer,
  type CompleteRequest,
  FairleadError,
  type LimitView,
  type ReserveAnswer,
  type ReserveRequest,
} from '@fairlead/core'
import { compareText } from '@fairlead/core/internal'
import {
  type CheckedParamsOf,
  checkParams,
  completeAnswerToWire,
  completeOfWire,
  limitComplete,
  limitOfWire,
  limitReserve,
  reserveAnswerToWire,
  reserveOfWire,
  viewToWire,
} from '@fairlead/protocol'
import { actingAs, type Handlers } from '../rpc/call.ts'

export const limitsDefine: Handlers['limits.define'] = async (
  { limit },
  call,
  { limiter, limitOwners },
) => {
  const view = await limiter.define(limitOfWire(limit), actingAs(call))
  await limitOwners.changed(view.limit)
  return { limit: viewToWire(view) }
}

export const limitsReset: Handlers['limits.reset'] = async ({ key }, call, { limiter }) => {
  const view = await limiter.reset(key, actingAs(call))
  if (view === null) throw unknownLimit(key)
  return { limit: viewToWire(view) }
}

export const limitsDelete: Handlers['limits.delete'] = async ({ key }, call, services) => {
  const isDeleted = await services.limiter.delete(key, actingAs(call))
  services.limitOwners.forget()
  if (isDeleted) return { key }
  throw unknownLimit(key)
}

export const limitsList: Handlers['limits.list'] = async (params, _, { limiter }) => {
  const { page, cursor } = pageOfLimits(await limiter.list(), params)
  return { limits: page.map(viewToWire), cursor }
}

/** A page of limits that are in order of key. */
export function pageOfLimits(
  all: readonly LimitView[],
  { cursor, limit = 100 }: CheckedParamsOf<'limits.list'>,
): { readonly page: readonly LimitView[]; readonly cursor: string | null } {
  const rest =
    cursor === undefined ? all : all.filter((view) => compareText(view.limit.key, cursor) > 0)
  const page = rest.slice(0, limit)
  return { page, cursor: rest.length > limit ? (page.at(-1)?.limit.key ?? null) : null }
}

export const limitsGet: Handlers['limits.get'] = async (params, call, { limiter, limitOwners }) => {
  const key = limitOwners.keyFor(call, params.key)
  const view = (await limitOwners.isOpenTo(call, key)) ? await limiter.get(key) : null
  if (view !== null) return { limit: viewToWire(view) }
  throw unknownLimit(key)
}

export const limitsReserve: Handlers['limits.reserve'] = async (params, call, services) => {
  const { limiter, limitOwners } = services
  const request = limitOwners.reserveFor(call, reserveOfWire(params))
  const refusal = await limitOwners.refusal(call, request.requirements)
  return reserveAnswerToWire(refusal ?? (await limiter.reserve(request)))
}

export const limitsComplete: Handlers['limits.complete'] = async (params, call, services) => {
  const { limiter, limitOwners } = services
  const request = limitOwners.completeFor(call, completeOfWire(params))
  return completeAnswerToWire(await limiter.complete(request))
}

export const limitsReserveMany: Handlers['limits.reserveMany'] = async (params, call, services) => {
  const { limiter, limitOwners } = services
  const requests = await Promise.all(
    params.requests.map((one) =>
      readOr(REFUSED_RESERVE, async () => {
        const request = limitOwners.reserveFor(call, reserveOfWire(checkParams(limitReserve, one)))
        return (await limitOwners.refusal(call, request.requirements)) ?? request
      }),
    ),
  )
  const results = await eachOf<ReserveRequest, ReserveAnswer>(requests, (sound) =>
    limiter.reserveMany(sound),
  )
  return { results: results.map(reserveAnswerToWire) }
}

export const limitsCompleteMany: Handlers['limits.completeMany'] = async (
  params,
  call,
  { limiter, limitOwners },
) => {
  const requests = await Promise.all(
    params.requests.map((one) =>
      readOr({ ok: false, error: 'invalid_request' }, async () =>
        limitOwners.completeFor(call, completeOfWire(checkParams(limitComplete, one))),
      ),
    ),
  )
  const results = await eachOf<CompleteRequest, CompleteAnswer>(requests, (sound) =>
    limiter.completeMany(sound),
  )
  return { results: results.map(completeAnswerToWire) }
}

const REFUSED_RESERVE = {
  allowed: false,
  retryAfterMs: 0,
  error: 'invalid_request',
  reservedAtUnixMs: null,
  deniedKey: null,
} as const

/** What was read, or an answer with the reason why it could not be. */
async function readOr<Read, Refused>(
  refused: Refused,
  read: () => Promise<Read>,
): Promise<Read | (Refused & { readonly detail: string })> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    return { ...refused, detail: error.message }
  }
}

/** Those that are well-formed go on together; each answer is put in the place of its question (HTTP-3). */
async function eachOf<Request extends { readonly leaseId: string }, Answer extends object>(
  items: readonly (Request | Answer)[],
  ask: (sound: readonly Request[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const sound = items.filter((item): item is Request => 'leaseId' in item)
  const answers = (sound.length === 0 ? [] : await ask(sound)).values()
  return items.map((item) => ('leaseId' in item ? (answers.next().value as Answer) : item))
}

function unknownLimit(key: string): FairleadError {
  return new FairleadError('NotFound', `there is no limit ${key}; an operator defines it`, { key })
}
