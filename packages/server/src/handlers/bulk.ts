import type { BulkAction } from '@fairlead/core'
import type { CheckedParamsOf, ResultOf } from '@fairlead/protocol'
import { type Call, type Handlers, ownCaller, type Services } from '../rpc/call.ts'
import { actingOn } from './acting-on.ts'
import { filterOf } from './job-filter.ts'

export const cancelJobs: Handlers['aicf.cancelJobs'] = (params, call, services) =>
  many('cancel', params, call, services)

export const retryJobs: Handlers['aicf.retryJobs'] = (params, call, services) => {
  services.heap.refuseWhenFull()
  return many('retry', params, call, services)
}

async function many(
  action: BulkAction,
  params: CheckedParamsOf<'aicf.cancelJobs'>,
  call: Call,
  { engine }: Services,
): Promise<ResultOf<'aicf.cancelJobs'>> {
  const { dry_run = false, limit, operation_id } = params
  const by = call.identity.role === 'requester' ? ownCaller(call) : 'operator'
  const asked = { action, by, filter: filterOf(params.filter) } as const
  if (dry_run) return { operation_id: null, counts: await engine.bulk.count(asked) }
  const run = await engine.bulk.start(
    {
      ...asked,
      ...(limit === undefined ? {} : { limit }),
      ...(operation_id === undefined ? {} : { id: operation_id }),
    },
    actingOn(call).actor ?? 'operator',
  )
  return { operation_id: run.id, counts: null }
}
