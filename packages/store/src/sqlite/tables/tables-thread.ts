import { serveCalls } from '../../thread/serve-calls.ts'
import { openTablesFile, type TablesOptions } from './open-tables.ts'

/** The arguments of `openTablesFile`. */
export interface TablesThreadData {
  readonly path: string
  readonly options: TablesOptions
}

const TICK_MS = 1_000

serveCalls(({ path, options }: TablesThreadData, pass) => {
  const file = openTablesFile(path, options)
  setInterval(() => pass(() => file.tick()), TICK_MS).unref()
  return file
})
