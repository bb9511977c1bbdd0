import { compareText, FairleadError } from '@fairlead/core'
import {
  checkParams,
  completeOfWire,
  limitComplete,
  limitOfWire,
  limitReserve,
  reserveAnswerToWire,
  reserveOfWire,
  viewToWire,
} from '@fairlead/protocol'
import { actingAs, type Handlers } from '../rpc/call.ts'

export const limitsDefine: Handlers['limits.define'] = async ({ limit }, call, { limiter }) => {
  const view = await limiter.define(limitOfWire(limit), actingAs(call))
  return { limit: viewToWire(view) }
}

export const limitsList: Handlers['limits.list'] = async (params, _, { limiter }) => {
  const { cursor, limit = 100 } = params
  const all = await limiter.list()
  const rest =
    cursor === undefined ? all : all.filter((view) => compareText(view.limit.key, cursor) > 0)
  const page = rest.slice(0, limit)
  return {
    limits: page.map(viewToWire),
    cursor: rest.length > limit ? (page.at(-1)?.limit.key ?? null) : null,
  }
}

export const limitsGet: Handlers['limits.get'] = async ({ key }, _, { limiter }) => {
  const view = await limiter.get(key)
  if (view !== null) return { limit: viewToWire(view) }
  throw new FairleadError('NotFound', `there is no limit ${key}; an operator defines it`, { key })
}

export const limitsReserve: Handlers['limits.reserve'] = async (params, _, { limiter }) =>
  reserveAnswerToWire(await limiter.reserve(reserveOfWire(params)))

export const limitsComplete: Handlers['limits.complete'] = (params, _, { limiter }) =>
  limiter.complete(completeOfWire(params))

export const limitsReserveMany: Handlers['limits.reserveMany'] = async (params, _, { limiter }) => {
  const results = await eachOf(
    params.requests,
    (one) => reserveOfWire(checkParams(limitReserve, one)),
    (sound) => limiter.reserveMany(sound),
    (detail) => ({ ...REFUSED, allowed: false, retryAfterMs: 0, detail }),
  )
  return { results: results.map(reserveAnswerToWire) }
}

export const limitsCompleteMany: Handlers['limits.completeMany'] = async (
  params,
  _,
  { limiter },
) => ({
  results: await eachOf(
    params.requests,
    (one) => completeOfWire(checkParams(limitComplete, one)),
    (sound) => limiter.completeMany(sound),
    (detail) => ({ ok: false, error: REFUSED.error, detail }),
  ),
})

const REFUSED = { error: 'invalid_request', reservedAtUnixMs: null, deniedKey: null } as const

/** Those that are well-formed go on together; each answer is put in the place of its question (HTTP-3). */
async function eachOf<Sound, Answer>(
  items: readonly unknown[],
  read: (item: unknown) => Sound,
  ask: (sound: readonly Sound[]) => Promise<Answer[]>,
  refuse: (detail: string) => Answer,
): Promise<Answer[]> {
  const sound: Sound[] = []
  const refusals = items.map((item) => {
    try {
      sound.push(read(item))
      return null
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      return refuse(error.message)
    }
  })
  const answers = (sound.length === 0 ? [] : await ask(sound)).values()
  return refusals.map((refusal) => refusal ?? (answers.next().value as Answer))
}
