import type { ExplanationRecord } from '@fairlead/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Live } from '../../data/live.ts'
import { Badge } from '../../parts/badge.tsx'
import { Copyable } from '../../parts/id.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { refusalWords } from '../../text/ids.ts'
import { plural } from '../../text/numbers.ts'
import { shuffledBySeed } from './round-order.ts'

type Attempt = ExplanationRecord['attempts'][number]
type Round = NonNullable<Attempt['round']>

/** A round keeps so many of its providers; behind them the order is not told. */
const KEPT = 20

/** The rounds that gave the job away, each of which can be computed again. */
export function Rounds({
  explained,
}: {
  readonly explained: Live<ExplanationRecord>
}): JSX.Element | null {
  const attempts = (explained.data?.attempts ?? []).filter(({ round }) => round !== null)
  if (attempts.length === 0) return null
  return (
    <Panel title="Rounds" isFlush>
      {attempts.toReversed().map(({ lease, round }) => (
        <RoundView
          key={lease.lease_id}
          attempt={lease.attempt}
          winner={lease.provider_id}
          of={round as Round}
        />
      ))}
    </Panel>
  )
}

function RoundView(props: {
  readonly attempt: number
  readonly winner: string
  readonly of: Round
}): JSX.Element {
  const { attempt, winner, of } = props
  const { height, at, seed, batch_digest, batch_size, order, providers, place, passed_over } = of
  return (
    <article class="blocker">
      <div class="top">
        <strong>
          Round {height}, attempt {attempt}
        </strong>
        <span class="muted">
          <Time at={at} /> · order {order}
        </span>
      </div>
      <Facts
        of={[
          ['Seed', <Copyable key="s" text={seed} />],
          ['Batch', <Copyable key="b" text={batch_digest} />],
          ['Batch of', plural(batch_size, 'job')],
          ['Place', place === null ? null : `${winner} stood at ${place} of ${providers.length}`],
          ['Order of asking', providers.map((id) => id.replace(/^provider:/, '')).join(', ')],
          [
            'Passed over',
            passed_over.map(({ provider_id, refusal }) => (
              <span key={provider_id}>
                {provider_id.replace(/^provider:/, '')}{' '}
                {refusal === null ? '' : `(${refusalWords(refusal, null)})`}{' '}
              </span>
            )),
          ],
        ]}
      />
      {order === 'first-fit' && providers.length < KEPT ? <Again of={of} /> : null}
    </article>
  )
}

/** The order of the providers, computed in this browser from the seed. */
function Again({ of }: { readonly of: Round }): JSX.Element {
  const [order, setOrder] = useState<readonly string[] | null>(null)
  const { providers, seed } = of
  if (order === null) {
    return (
      <p>
        <button
          type="button"
          class="small"
          onClick={() => setOrder(shuffledBySeed(providers, seed))}
        >
          Compute it again here
        </button>
      </p>
    )
  }
  const isSame = order.join() === providers.join()
  return (
    <p class="row" role="status">
      <Badge tone={isSame ? 'good' : 'bad'}>{isSame ? 'same order' : 'another order'}</Badge>
      <span>
        From the seed this browser gets {order.map((id) => id.replace(/^provider:/, '')).join(', ')}
        .
      </span>
    </p>
  )
}
