import type { ResultOf } from '@fairlead/client'
import type { JSX } from 'preact'
import type { Live } from '../../data/live.ts'
import { Answer } from '../../parts/answer.tsx'
import { Copyable } from '../../parts/id.tsx'
import { BytesView } from '../../parts/json/bytes-view.tsx'
import { JsonView } from '../../parts/json/json-view.tsx'
import { Empty, Facts, Panel } from '../../parts/panel.tsx'
import { hasEnded } from './has-ended.ts'
import { hiddenBecause } from './payload.tsx'

/** What came of it, and the proof where there is one. */
export function Outcome({ live }: { readonly live: Live<ResultOf<'aicf.getJob'>> }): JSX.Element {
  return (
    <Panel title="Result" isFlush>
      <Answer of={live}>
        {({ job, result, claim }) => {
          if (result === null && claim === null)
            return <Empty>There is no result{hasEnded(job.status) ? '' : ' yet'}.</Empty>
          const why = hiddenBecause(job)
          const output = result?.output ?? null
          return (
            <>
              {why !== null ? (
                <Empty>{why}</Empty>
              ) : output === null ? (
                <Empty>
                  It has no output here: there is none, or it is kept elsewhere under its digest.
                </Empty>
              ) : (
                <BytesView hex={output} label="Result" />
              )}
              {why === null && result?.meta != null ? <JsonView value={result.meta} /> : null}
              <div style={{ padding: '8px 14px 12px' }}>
                <Facts
                  of={[
                    ['Digest', result === null ? null : <Copyable text={result.output_digest} />],
                    ['Type', result?.content_type],
                    ['Units', result?.units],
                    ['Proof', claim === null ? null : `${claim.proof_type}, ${claim.status}`],
                    ['Nullifier', claim === null ? null : <Copyable text={claim.nullifier} />],
                    ['Final at', claim?.finalized_height],
                  ]}
                />
              </div>
            </>
          )
        }}
      </Answer>
    </Panel>
  )
}
