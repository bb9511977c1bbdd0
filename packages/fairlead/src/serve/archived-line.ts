import { type LogRecord, sealedInResult } from '@fairlead/core/internal'
import { type Command, decodeBatch } from '@fairlead/engine'

/** A record as a line of JSON, without what registrations have of people (ARCHIVE-2). */
export function archivedLine({ batch, digest, body }: LogRecord): string {
  const { entries } = decodeBatch(body)
  const commands = entries.map(({ at, command }) => ({ at, ...withoutPeople(command) }))
  return `${JSON.stringify({ batch, digest, commands }, asJson)}\n`
}

function withoutPeople(command: Command): object {
  if (command.type === 'enqueue' && command.request.kind === 'registration') {
    const { payloadCbor: _payload, ...request } = command.request
    // The seat and the tie breaker are hashes of a user.
    return { ...command, request, session: null }
  }
  if (command.type !== 'complete' || command.output === null) return command
  // Only outputs of registrations are sealed.
  return sealedInResult(command.output) === null
    ? command
    : { ...command, output: null, meta: null }
}

function asJson(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`
  return value instanceof Set || value instanceof Map ? [...value] : value
}
