import { callerOf } from '@fairlead/core'
import type { ParamsOf } from '@fairlead/protocol'
import { oneOfWords } from './flags.ts'
import type { QueueFlags } from './queue-options.ts'

const KINDS = ['ai', 'quantum', 'task'] as const

/** The jobs that a pause or resume is about. */
export function readQueueKey(kind: string, flags: QueueFlags): ParamsOf<'queues.pause'> {
  return {
    kind: oneOfWords('<kind>', kind, KINDS),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.caller === undefined ? {} : { caller: callerId(flags.caller) }),
  }
}

/** The id of a caller that is given by its id or its name. */
function callerId(text: string): string {
  return /^0x[0-9a-f]{64}$/.test(text) ? text : callerOf(text)
}
