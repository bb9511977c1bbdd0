import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { bytesOfHex, hexDump, textOfBytes } from '../../text/bytes.ts'
import { bytesText } from '../../text/numbers.ts'
import { PlainText } from '../scroll.tsx'
import { JsonView } from './json-view.tsx'

const SHOWN_BYTES = 65_536
const VIEWS = ['JSON', 'text', 'hex'] as const
type View = (typeof VIEWS)[number]

/** Bytes as JSON, text or hex: the first of these that they are, until another is chosen. */
export function BytesView(props: { readonly hex: string; readonly label: string }): JSX.Element {
  const { hex, label } = props
  const all = bytesOfHex(hex)
  const text = textOfBytes(all)
  const json = text === null ? undefined : parsed(text)
  const able: Readonly<Record<View, boolean>> = {
    JSON: json !== undefined,
    text: text !== null,
    hex: true,
  }
  const [chosen, choose] = useState<View | null>(null)
  const view = chosen !== null && able[chosen] ? chosen : (VIEWS.find((one) => able[one]) ?? 'hex')
  const shown = all.subarray(0, SHOWN_BYTES)
  return (
    <div>
      <div class="row" style={{ padding: '6px 14px 0' }}>
        <fieldset class="tabs plain" aria-label={`${label} as`}>
          {VIEWS.map((one) => (
            <button
              key={one}
              type="button"
              disabled={!able[one]}
              aria-pressed={view === one}
              onClick={() => choose(one)}
            >
              {one}
            </button>
          ))}
        </fieldset>
        <span class="muted">{bytesText(all.length)}</span>
      </div>
      {view === 'JSON' ? <JsonView value={json} /> : null}
      {view === 'text' ? (
        <PlainText label={label} text={(text ?? '').slice(0, SHOWN_BYTES)} />
      ) : null}
      {view === 'hex' ? <PlainText label={label} text={hexDump(shown)} /> : null}
      {all.length > SHOWN_BYTES && view !== 'JSON' ? (
        <p class="empty">Only the first {bytesText(SHOWN_BYTES)} are shown.</p>
      ) : null}
    </div>
  )
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
