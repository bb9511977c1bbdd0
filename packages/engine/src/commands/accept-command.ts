import type { Market } from '@fairlead/core'
import { attemptError } from '@fairlead/core/internal'
import { checkCompletion, saysFeeFailed } from '../state/completion.ts'
import type { Command } from './command.ts'
import type { Sealer } from './sealer.ts'

type Reported = Extract<Command, { type: 'complete' | 'fail' }>

/**
 * The form in which the end of an attempt is recorded. Texts have their stored length. Of a registration, the result
 * is sealed, and the words of the booking site are left out (FAIL-5).
 */
export function acceptReport(command: Reported, market: Market, sealer: Sealer): Command {
  const { leaseId } = command
  const isRegistration = market.leases.get(leaseId)?.job.shape.kind === 'registration'
  if (command.type === 'complete') {
    checkCompletion(command, market.policy)
    if (!isRegistration) return command
    const isFeeFailed = saysFeeFailed(command.output)
    return { ...sealer.result(command, leaseId), isFeeFailed }
  }
  const { message: _message, details: _details, ...failure } = command
  if (isRegistration) return failure
  const { code, message, details } = attemptError(command)
  return {
    ...failure,
    code,
    ...(message === null ? {} : { message }),
    ...(details === null ? {} : { details }),
  }
}
