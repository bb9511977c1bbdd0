import type { ComponentChildren, JSX } from 'preact'
import { Scroll } from '../scroll.tsx'

export interface Column<Row> {
  readonly title: string
  readonly isNumber?: boolean
  readonly isWrapped?: boolean
  readonly cell: (row: Row) => ComponentChildren
}

/** Few rows, all of them there. In a narrow place each is a stack of lines, a cell a line; else wide ones scroll. */
export function Table<Row>(props: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
}): JSX.Element {
  const { label, columns, rows, idOf } = props
  return (
    <Scroll class="scroll table" label={label}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)}>
              {columns.map(({ title, isNumber, isWrapped, cell }) => (
                <td
                  key={title}
                  class={isNumber ? 'number' : isWrapped ? 'wrap' : ''}
                  data-title={title}
                >
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
