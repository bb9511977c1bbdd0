/** How a command ended, as the process says it. A number once given keeps its meaning. */
export const EXIT = { ok: 0, failed: 1, misuse: 2, refused: 3, unavailable: 4 } as const

/** What each means, for `--help` and the reference page. */
export const EXIT_MEANS: { readonly [Name in keyof typeof EXIT]: string } = {
  ok: 'done',
  failed:
    'it was tried and failed: a check did not hold, a job ended without a result, a file was enqueued in part, a defect',
  misuse: 'the command line, the configuration or a parameter is wrong; nothing was done',
  refused: 'the server refused: no such job, not yours, not in this state, no valid token',
  unavailable: 'no server answered, or it is overloaded; the same command may succeed later',
}

const MISUSE: ReadonlySet<unknown> = new Set(['InvalidParams', 'LimitExceeded'])
const FAILED: ReadonlySet<unknown> = new Set(['Internal', 'JobExpired'])

/** The exit code for a refusal. By its fields, not its class, so that nothing has to be loaded. */
export function exitOf(error: { readonly code: unknown; readonly retryable?: unknown }): number {
  if (MISUSE.has(error.code)) return EXIT.misuse
  if (FAILED.has(error.code)) return EXIT.failed
  return error.retryable === true ? EXIT.unavailable : EXIT.refused
}
