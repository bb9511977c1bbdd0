import type { Option } from '../command.ts'

/** The flags and the argument that name what a pause holds. */
export interface QueueFlags {
  readonly name?: string
  readonly caller?: string
}

export const QUEUE_ARGS = [{ name: '<kind>', text: 'ai, quantum or task' }] as const

export const QUEUE_OPTIONS: readonly Option[] = [
  { flags: '--name <name>', text: 'only of this model or task' },
  { flags: '--caller <name>', text: 'only of this caller: a name, or its id' },
]
