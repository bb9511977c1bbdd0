import type { ParamsOf } from '@fairlead/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { line } from '../../data/line.ts'
import { Action } from '../../parts/dialog/action.tsx'

type Kind = ParamsOf<'queues.pause'>['kind']

const KINDS: readonly Kind[] = ['ai', 'quantum', 'task']

/** A pause for jobs that are still to come, too: a queue is only listed while it has some. */
export function PauseForm(): JSX.Element {
  const [kind, setKind] = useState<Kind>('task')
  const [name, setName] = useState('')
  const key = { kind, ...(name.trim() === '' ? {} : { name: name.trim() }) }
  const who = `${kind} ${name.trim() === '' ? 'jobs of every name' : name.trim()}`
  return (
    <div class="row">
      <select
        aria-label="Kind of jobs to pause"
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as Kind)}
      >
        {KINDS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <input
        type="text"
        aria-label="Name of jobs to pause"
        placeholder="all names"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <Action
        label="Pause these"
        done={`${who} are paused.`}
        question={
          <p>
            {who} stay queued until somebody resumes them, those to come too. What runs goes on.
          </p>
        }
        run={() => line.call('queues.pause', key)}
      />
    </div>
  )
}
