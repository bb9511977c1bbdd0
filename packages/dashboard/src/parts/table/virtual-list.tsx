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
  readonly cell: (row: Row) => ComponentChildren
}

const ROW_PX = 30
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
  const { label, columns, rows, idOf, open, onEnd, onSeen, height = 'calc(100vh - 230px)' } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const [, redraw] = useReducer<number, void>((n) => n + 1, 0)
  const [activeId, setActiveId] = useState<string | null>(null)
  const active = activeId === null ? -1 : rows.findIndex((row) => idOf(row) === activeId)
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index: number) => idOf(rows[index] as Row),
    overscan: OVERSCAN,
    paddingStart: ROW_PX,
    scrollPaddingStart: ROW_PX,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(),
  }
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options))
  virtual.setOptions(options)
  useEffect(() => virtual._didMount(), [virtual])
  useLayoutEffect(() => virtual._willUpdate())
  // New rows come in above: what one reads stays where it is.
  const anchor = useRef<{ readonly id: string; readonly index: number } | null>(null)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box === null) return
    const { id: kept = null, index: at = 0 } = anchor.current ?? {}
    const now = kept === null ? -1 : rows.findIndex((row) => idOf(row) === kept)
    if (box.scrollTop > 0 && now >= 0 && now !== at) box.scrollTop += (now - at) * ROW_PX
    const index = Math.floor(box.scrollTop / ROW_PX)
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
  const style = {
    gridTemplateColumns: columns
      .map(({ px, isWide }) => (isWide ? `minmax(${px}px, 1fr)` : `${px}px`))
      .join(' '),
    minWidth: `${columns.reduce((sum, { px }) => sum + px + GAP_PX, GAP_PX)}px`,
  }
  return (
    <div
      class="list"
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
      onKeyDown={onKeyDown}
      style={{ height: `min(${height}, ${(rows.length + 1) * ROW_PX + 14}px)`, minHeight: '120px' }}
    >
      <div class="head" role="row" aria-rowindex={1} style={style}>
        {columns.map(({ title, isNumber }) => (
          <span key={title} role="columnheader" class={isNumber ? 'number' : ''}>
            {title}
          </span>
        ))}
      </div>
      <div role="rowgroup" style={{ height: `${virtual.getTotalSize() - ROW_PX}px` }}>
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
              {columns.map(({ title, isNumber, cell }) => (
                <span key={title} role="gridcell" class={isNumber ? 'number' : ''}>
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
