import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
    const store = await openSqliteStore(this.#path)
    // Who is killed each time never carries anything over; at times some is in the tables, some in the log.
    if (this.#images % 3 === 2) await store.checkpoint()
    return store
  }

  /** The files as they are. */
  cutOff(): void {
    this.#next = join(this.#folder, `state-${++this.#images}.db`)
    for (const [end, content] of atOneTime(this.#path)) {
      if (content !== null) writeFileSync(this.#next + end, content)
    }
  }
}

type Files = readonly (readonly [end: string, content: Uint8Array | null])[]

/** Its own thread may write to them meanwhile; what is found twice was there between the two looks. */
function atOneTime(path: string): Files {
  for (let files = filesOf(path); ; ) {
    const again = filesOf(path)
    if (again.every(([, content], i) => isSame(content, files[i]?.[1] ?? null))) return again
    files = again
  }
}

function filesOf(path: string): Files {
  return ['', '-wal', '-log-a', '-log-b'].map((end) => [
    end,
    existsSync(path + end) ? readFileSync(path + end) : null,
  ])
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0
}
