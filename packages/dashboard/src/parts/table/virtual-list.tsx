import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from '@tanstack/virtual-core'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'

export interface ListColumn<Row> {
  readonly title: string
  /** At least so wide. */
  readonly px: number
  /** Takes a part of what is left. */
  readonly isWide?: boolean
  readonly isNumber?: boolean
  /** Where it stands in a narrow window; if any column says so, the others are left out there. */
  readonly narrowLine?: 1 | 2
  readonly cell: (row: Row) => ComponentChildren
}

const WIDE_ROW_PX = 30
/** Of two lines. */
const NARROW_ROW_PX = 52
const NARROW = matchMedia('(max-width: 600px)')
const GAP_PX = 14
const OVERSCAN = 8
/** Rows before the end of what is there at which more is asked for. */
const AHEAD = 30

/** As many rows as there are, of which those that are seen are drawn. Arrows move, Enter opens. */
export function VirtualList<Row>(props: {
  readonly label: string
  readonly columns: readonly ListColumn<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  /** Where the row leads; null: nowhere. */
  readonly open?: ((row: Row) => void) | undefined
  /** The end of what is there is near. */
  readonly onEnd?: () => void
  /** The first row that is drawn. */
  readonly onSeen?: (row: number) => void
  readonly height?: string
}): JSX.Element {
  const { label, rows, idOf, open, onEnd, onSeen, height = 'calc(100vh - 230px)' } = props
  const isNarrow = useNarrow() && props.columns.some(({ narrowLine }) => narrowLine !== undefined)
  const columns = isNarrow
    ? props.columns.filter(({ narrowLine }) => narrowLine !== undefined)
    : props.columns
  const rowPx = isNarrow ? NARROW_ROW_PX : WIDE_ROW_PX
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const [, redraw] = useReducer<number, void>((n) => n + 1, 0)
  const [activeId, setActiveId] = useState<string | null>(null)
  const active = activeId === null ? -1 : rows.findIndex((row) => idOf(row) === activeId)
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    getItemKey: (index: number) => idOf(rows[index] as Row),
    overscan: OVERSCAN,
    paddingStart: rowPx,
    scrollPaddingStart: rowPx,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(),
  }
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options))
  virtual.setOptions(options)
  useEffect(() => virtual._didMount(), [virtual])
  useLayoutEffect(() => virtual._willUpdate())
  // Rows of another height are laid out anew.
  useLayoutEffect(() => virtual.measure(), [rowPx])
  // New rows come in above: what one reads stays where it is.
  const anchor = useRef<{ readonly id: string; readonly index: number } | null>(null)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box === null) return
    const { id: kept = null, index: at = 0 } = anchor.current ?? {}
    const now = kept === null ? -1 : rows.findIndex((row) => idOf(row) === kept)
    if (box.scrollTop > 0 && now >= 0 && now !== at) box.scrollTop += (now - at) * rowPx
    const index = Math.floor(box.scrollTop / rowPx)
    const row = rows[index]
    anchor.current = row === undefined ? null : { id: idOf(row), index }
  })
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? 0
  useEffect(() => onSeen?.(first), [first])
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - AHEAD) onEnd?.()
  }, [last, rows.length])

  const onKeyDown = (event: KeyboardEvent): void => {
    const next = movedTo(event.key, active, rows.length)
    if (next !== null) {
      event.preventDefault()
      setActiveId(idOf(rows[next] as Row))
      virtual.scrollToIndex(next)
    }
    const row = rows[active]
    if (event.key === 'Enter' && event.target === scroller.current && row !== undefined) open?.(row)
  }
  const style = isNarrow
    ? { height: `${rowPx}px` }
    : {
        gridTemplateColumns: columns
          .map(({ px, isWide }) => (isWide ? `minmax(${px}px, 1fr)` : `${px}px`))
          .join(' '),
        minWidth: `${columns.reduce((sum, { px }) => sum + px + GAP_PX, GAP_PX)}px`,
      }
  return (
    <div
      class={isNarrow ? 'list narrow' : 'list'}
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
      onKeyDown={onKeyDown}
      style={{ height: `min(${height}, ${(rows.length + 1) * rowPx + 14}px)`, minHeight: '120px' }}
    >
      <div class="head" role="row" aria-rowindex={1} style={style}>
        {columns.map(({ title, isNumber, narrowLine }) => (
          <span
            key={title}
            role="columnheader"
            class={isNumber ? 'number' : ''}
            style={isNarrow ? { gridRow: narrowLine } : {}}
          >
            {title}
          </span>
        ))}
      </div>
      <div role="rowgroup" style={{ height: `${virtual.getTotalSize() - rowPx}px` }}>
        {items.map(({ index, start, key }) => {
          const row = rows[index] as Row
          return (
            <div
              key={key}
              id={`${id}-${index}`}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={index === active}
              class={index === active ? 'line active' : 'line'}
              style={{ ...style, top: `${start}px`, cursor: open === undefined ? '' : 'pointer' }}
              onClick={(event) => {
                if ((event.target as Element).closest('a, button') === null) open?.(row)
              }}
            >
              {columns.map(({ title, isNumber, narrowLine, cell }) => (
                <span
                  key={title}
                  role="gridcell"
                  class={isNumber ? 'number' : ''}
                  style={isNarrow ? { gridRow: narrowLine } : {}}
                >
                  {cell(row)}
                </span>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const look = (): void => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', look)
    return () => NARROW.removeEventListener('change', look)
  }, [])
  return isNarrow
}

const PAGE = 15

function movedTo(key: string, active: number, count: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + PAGE,
    PageUp: active - PAGE,
    Home: 0,
    End: count - 1,
  }
  const wanted = steps[key]
  return wanted === undefined || count === 0 ? null : Math.max(0, Math.min(count - 1, wanted))
}
