import { FairleadError } from '@fairlead/core'

/** An error of this command line whose message has several lines, all of which it wrote itself. */
export class LinesError extends FairleadError {}

/** A message in lines. That of a server is one line, and a line for each problem that it lists (TERMINAL-1). */
export function messageLines(error: Error & { readonly details?: object }): string[] {
  if (error instanceof LinesError) return error.message.split('\n')
  const { problems } = (error.details ?? {}) as { readonly problems?: unknown }
  const isList = Array.isArray(problems) && problems.every((one) => typeof one === 'string')
  if (!isList || problems.length === 0) return [error.message]
  const [head = ''] = error.message.split('\n', 1)
  return [head, ...problems.map((problem) => `- ${problem}`)]
}
