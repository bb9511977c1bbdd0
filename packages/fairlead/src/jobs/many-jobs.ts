import type { NodeClient } from '@fairlead/client'
import type { Call } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { misuse, wholeNumber } from '../flags/flags.ts'
import { jobFilterOf } from '../flags/job-filter-flags.ts'
import type { JobFilterFlags } from '../flags/job-filter-options.ts'
import { table } from '../terminal/table.ts'

export interface ManyFlags extends JobFilterFlags {
  readonly dryRun?: true
  readonly limit?: string
}

/** True if the command line chooses jobs by a filter; one by its id otherwise. */
export function isMany(args: readonly string[], flags: ManyFlags): boolean {
  const hasFilter = Object.keys(jobFilterOf(flags, Date.now())).length > 0
  if (args[0] === undefined && !hasFilter) {
    throw misuse('expected a task_id, or a filter such as --status FAILED')
  }
  if (args[0] !== undefined && (hasFilter || flags.dryRun === true || flags.limit !== undefined)) {
    throw misuse('expected either a task_id or a filter, not both')
  }
  return hasFilter
}

/** Acts on all jobs that fit the flags, and tells what it came to. */
export async function actOnMany(
  action: 'cancel' | 'retry',
  server: NodeClient,
  {
    flags,
    print,
    isJson,
    terminal,
  }: Pick<Call<ManyFlags>, 'flags' | 'print' | 'isJson' | 'terminal'>,
): Promise<number> {
  const filter = jobFilterOf(flags, Date.now())
  const method = action === 'cancel' ? 'aicf.cancelJobs' : 'aicf.retryJobs'
  if (flags.dryRun === true) {
    const { counts } = await server.call(method, { filter, dry_run: true })
    const rows = (counts ?? []).map(({ status, matches, eligible }) => [
      status,
      String(matches),
      String(eligible),
    ])
    const columns = [
      { title: 'status' },
      { title: 'matches', align: 'right' as const },
      { title: 'eligible', align: 'right' as const },
    ]
    print(counts, rows.length === 0 ? 'No job fits.' : table(columns, rows))
    return EXIT.ok
  }
  const limit =
    flags.limit === undefined ? {} : { limit: wholeNumber('--limit', flags.limit, { min: 1 }) }
  const onProgress = ({ done }: { readonly done: number }) => {
    if (!isJson) terminal.note(terminal.colors.dim(`${done.toLocaleString('en')} so far`))
  }
  const end =
    action === 'cancel'
      ? await server.cancelJobs(filter, { ...limit, onProgress })
      : await server.retryJobs(filter, { ...limit, onProgress })
  const did = action === 'cancel' ? 'cancelled' : 'enqueued again'
  print(end, `${end.done} ${did}, ${end.skipped} left as they were.`)
  return EXIT.ok
}
