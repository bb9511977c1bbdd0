import type { ListFilter } from '../commands/check-arguments.ts'

/** The jobs of a bulk run: the filter of a list, without its pages. A wait reason is that at the step of its job. */
export type BulkFilter = Omit<ListFilter, 'cursor' | 'limit' | 'order'>

const WIDE = '$u64'

/** A filter as text. JSON has no wide integers, so they are marked. */
export function filterText(filter: BulkFilter): string {
  const sorted = Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(Object.fromEntries(sorted), (_, value: unknown) =>
    typeof value === 'bigint' ? { [WIDE]: value.toString() } : value,
  )
}

export function filterOf(text: string): BulkFilter {
  return JSON.parse(text, (_, value: unknown) => {
    const digits = (value as Readonly<Record<string, unknown>> | null)?.[WIDE]
    return typeof digits === 'string' ? BigInt(digits) : value
  }) as BulkFilter
}
