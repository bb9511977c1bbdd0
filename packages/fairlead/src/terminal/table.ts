import { escaped } from './escaped.ts'

/** A column of a table: its title, and which side its cells stand on. */
export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** Its cells may be cut, down to this many characters, where the table is too wide. */
  readonly cutTo?: number
}

/** Rows of text as the lines of a table; widths are those of the widest cells, as they are shown. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax = Number.POSITIVE_INFINITY,
): string[] {
  const escapedRows = rows.map((cells) => cells.map(escaped))
  const lines = [columns.map(({ title }) => title), ...escapedRows]
  const widest = columns.map((_, i) => Math.max(...lines.map((cells) => (cells[i] ?? '').length)))
  const widths = fitted(columns, widest, widthMax)
  const shown = lines.map((cells) =>
    columns
      .map(({ align = 'left' }, i) => {
        const width = widths[i] ?? 0
        const cell = cut(cells[i] ?? '', width)
        return align === 'left' ? cell.padEnd(width) : cell.padStart(width)
      })
      .join(GAP)
      .trimEnd(),
  )
  const [head = '', ...body] = shown
  return [head, '─'.repeat(Math.max(...shown.map((line) => line.length))), ...body]
}

const GAP = '  '

/** Takes from the widest of the columns that may be cut, until the table fits. */
function fitted(columns: readonly Column[], widest: readonly number[], widthMax: number): number[] {
  const widths = [...widest]
  const total = widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1))
  for (let over = total - widthMax; over > 0; over--) {
    const room = columns.map(({ cutTo }, i) => {
      const width = widths[i] ?? 0
      return cutTo !== undefined && width > cutTo ? width : 0
    })
    const most = Math.max(...room)
    if (most === 0) break
    widths[room.indexOf(most)] = most - 1
  }
  return widths
}

function cut(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text
}
