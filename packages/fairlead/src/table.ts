/** A column of a table: its title, and which side its cells stand on. */
export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Rows of text as a table that lines up; widths are those of the widest cells. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const lines = [columns.map(({ title }) => title), ...rows]
  const widths = columns.map((_, i) => Math.max(...lines.map((cells) => (cells[i] ?? '').length)))
  const shown = lines.map((cells) =>
    columns
      .map(({ align = 'left' }, i) => {
        const cell = cells[i] ?? ''
        return align === 'left' ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)
      })
      .join('  ')
      .trimEnd(),
  )
  const [head = '', ...body] = shown
  return [head, '─'.repeat(Math.max(...shown.map((line) => line.length))), ...body].join('\n')
}
