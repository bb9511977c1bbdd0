import { expect, it } from 'vitest'
import { table } from './table.ts'

const columns = [{ title: 'id' }, { title: 'name', cutTo: 4 }, { title: 'note', cutTo: 4 }]

it('takes from the widest column that may be cut, until the table fits', () => {
  const rows = [['0x1234', 'a-long-name-here', 'short']]
  expect(table(columns, rows)[2]).toBe('0x1234  a-long-name-here  short')
  expect(table(columns, rows, 31)[2]).toBe('0x1234  a-long-name-here  short')
  expect(table(columns, rows, 30)[2]).toBe('0x1234  a-long-name-he…  short')
  expect(table(columns, rows, 18)[2]).toBe('0x1234  a-l…  sho…')
})

it('cuts no column below its least width, and no other column at all', () => {
  expect(table(columns, [['0x1234', 'a-long-name', 'a-note']], 5)[2]).toBe('0x1234  a-l…  a-n…')
})
