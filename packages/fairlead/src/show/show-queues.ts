import { durationText } from '@fairlead/engine'
import type { ParamsOf, ResultOf } from '@fairlead/protocol'
import { table } from '../terminal/table.ts'

/** The answer to `queues.list`: a table of queues, then a line for each pause. */
export function queuesText(
  { queues, pauses }: ResultOf<'queues.list'>,
  nowMs: number,
): readonly string[] {
  const rows = queues.map(({ kind, name, ready, held }) => [
    kind,
    name ?? '',
    String(ready),
    String(held),
  ])
  const listed =
    rows.length === 0
      ? ['No job is ready.']
      : table(
          [
            { title: 'kind' },
            { title: 'name' },
            { title: 'ready', align: 'right' },
            { title: 'held', align: 'right' },
          ],
          rows,
        )
  if (pauses.length === 0) return [...listed, 'Nothing is paused.']
  const lines = pauses.map(
    (pause) => `${queueText(pause)} is paused for ${durationText(nowMs - pause.paused_at)}.`,
  )
  return [...listed, '', ...lines]
}

/** The jobs that a pause holds, in words. */
export function queueText({
  kind,
  name = null,
  caller = null,
}: {
  readonly kind: ParamsOf<'queues.pause'>['kind']
  readonly name?: string | null | undefined
  readonly caller?: string | null | undefined
}): string {
  return `${kind}${name === null ? '' : ` ${name}`}${caller === null ? '' : ` of caller ${caller}`}`
}
