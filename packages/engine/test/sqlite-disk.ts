import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Store } from '@fairlead/core'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { onTestFinished } from 'vitest'
import type { Disk } from './engine-run.ts'

/** A file of SQLite, and what would be found of it if its process were killed; gone when the test is. */
export class SqliteDisk implements Disk {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fairlead-restart-'))
  #path = join(this.#folder, 'state.db')
  /** What is opened next: the same file, or the newest image. */
  #next = this.#path
  #images = 0

  constructor() {
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }))
  }

  async open(): Promise<Store> {
    this.#path = this.#next
    return openSqliteStore(this.#path)
  }

  /** The files as they are. */
  cutOff(): void {
    this.#next = join(this.#folder, `state-${++this.#images}.db`)
    for (const [end, content] of atOneTime(this.#path)) writeFileSync(this.#next + end, content)
  }
}

/** The contents of the tables' files and of those of the log, by the ends of their names. */
type Files = ReadonlyMap<string, Uint8Array>

/** Other threads may write to them meanwhile. A content that is found twice was there between the two looks. */
function atOneTime(path: string): Files {
  for (let files = filesOf(path); ; ) {
    const again = filesOf(path)
    const isSame = [...again].every(([end, content]) => {
      const before = files.get(end)
      return before !== undefined && Buffer.compare(content, before) === 0
    })
    if (isSame && again.size === files.size) return again
    files = again
  }
}

function filesOf(path: string): Files {
  const files = new Map<string, Uint8Array>()
  for (const name of readdirSync(dirname(path)).sort()) {
    const end = name.startsWith(basename(path)) ? name.slice(basename(path).length) : null
    if (end === null || !/^(|-wal|-log-\d+)$/.test(end)) continue
    try {
      files.set(end, readFileSync(path + end))
    } catch (error) {
      // It was deleted since, and the next look will differ.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return files
}
