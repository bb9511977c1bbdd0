import type { JobRecord, ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { line } from '../../data/line.ts'
import type { Live } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { BytesView } from '../../parts/json/bytes-view.tsx'
import { JsonView } from '../../parts/json/json-view.tsx'
import { Empty, Panel } from '../../parts/panel.tsx'

/** Why a payload or a result is not shown; null if it is. */
export function hiddenBecause(job: JobRecord): string | null {
  if (job.kind === 'registration') {
    return 'It is about a person, so it is not shown here. It is told to whoever scheduled it.'
  }
  if (line.who.value?.shows_payloads === false) {
    return 'The operator of this server wants no payloads and results on screens.'
  }
  return null
}

/** What the job is to do. */
export function Payload({ live }: { readonly live: Live<ResultOf<'aicf.getJob'>> }): JSX.Element {
  return (
    <Panel title="Payload" isFlush>
      <Answer of={live}>
        {({ job }) => {
          const why = hiddenBecause(job)
          if (why !== null) return <Empty>{why}</Empty>
          const payload = job.request.payload as Readonly<Record<string, unknown>>
          const bytes = payload['prompt'] ?? payload['circuit']
          if (typeof bytes !== 'string') return <JsonView value={payload} />
          const { prompt: _, circuit: __, ...others } = payload
          return (
            <>
              <BytesView hex={bytes} label="Payload" />
              <JsonView value={others} />
            </>
          )
        }}
      </Answer>
    </Panel>
  )
}
