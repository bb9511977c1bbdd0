import type { RegistrationRecord } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import type { ResultOf } from '@fairlead/protocol'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { stepLines } from './show-jobs.ts'

const right = (title: string) => ({ title, align: 'right' as const })

/** Registrations as a table. */
export function registrationsTable(registrations: readonly RegistrationRecord[]): string[] {
  return table(
    [
      { title: 'reference' },
      { title: 'provider' },
      { title: 'organisation' },
      { title: 'event' },
      right('rank'),
      right('first attempt'),
      { title: 'result' },
      { title: 'number' },
    ],
    registrations.map((one) => [
      one.reference,
      one.provider,
      one.org_ref,
      one.event_id,
      one.rank === null ? '' : String(one.rank),
      one.first_attempt_delay_ms === null ? '' : `+${durationText(one.first_attempt_delay_ms)}`,
      one.reason === null ? one.result : `${one.result} (${one.reason})`,
      one.is_readable ? (one.booking_number ?? '') : 'unreadable',
    ]),
  )
}

/** What somebody is told of a registration, and what happened to it. */
export function registrationText(
  { registration, timeline }: ResultOf<'signup.audit'>,
  { bold }: Terminal['colors'],
): string[] {
  const { reference, provider, org_ref, event_id, message } = registration
  return [
    `${bold(reference)}  ${provider} ${org_ref} ${event_id}`,
    ...message.text.split('\n'),
    '',
    bold('What happened'),
    ...stepLines(timeline),
  ]
}
