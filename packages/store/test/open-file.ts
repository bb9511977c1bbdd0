import { closeSync, copyFileSync, existsSync, openSync } from 'node:fs'
import type { WriteBatch } from '@fairlead/core/internal'
import { onTestFinished } from 'vitest'
import { encodeBatch } from '../src/sqlite/batch-codec.ts'
import { LogEnd } from '../src/sqlite/log-end.ts'
import { openSqliteFile, type SqliteFile } from '../src/sqlite/sqlite-file.ts'
import type { DirectReads } from '../src/sqlite/sqlite-reads.ts'
import { PACE, type Pace } from '../src/sqlite/table-checkpointer.ts'
import { tempPath } from './temp-store.ts'

/** A file on this thread: between two of its calls no time passes, so nothing is carried over. */
export class OpenFile {
  readonly path: string
  readonly file: SqliteFile
  readonly #logEnd = new LogEnd()
  #refusals = 0
  #isClosed = false

  constructor(
    path = tempPath(),
    pace: Partial<Pace> = {},
    durability: 'full' | 'relaxed' = 'relaxed',
  ) {
    this.path = path
    this.file = openSqliteFile(
      path,
      { durability },
      { pace: { ...PACE, ...pace }, logEnd: this.#logEnd },
    )
    onTestFinished(() => this.close())
  }

  close(): void {
    if (!this.#isClosed) this.file.close()
    this.#isClosed = true
  }

  /** Whether the batch was taken. */
  commit(batch: WriteBatch): boolean {
    return this.#isTaken(() => {
      const synced = this.file.commit(encodeBatch(batch).bytes, this.#refusals)
      if (synced !== null) throw new Error('it is synced beside')
    })
  }

  /** Of a batch that is synced while rows are carried: whether it was taken, once that is known. */
  commitBeside(batch: WriteBatch): Promise<boolean> {
    const synced = this.file.commit(encodeBatch(batch).bytes, this.#refusals)
    if (synced === null) throw new Error('it was synced at once')
    const refused = (): boolean => {
      this.#refusals++
      return false
    }
    return synced.then(() => true, refused)
  }

  /** Until it is called back, the log is on a device that takes all that is written and cannot be synced. */
  breakSyncs(): () => void {
    const segment = this.#logEnd.current
    const file = segment.file
    const nowhere = openSync('/dev/null', 'r+')
    segment.file = nowhere
    return () => {
      segment.file = file
      closeSync(nowhere)
    }
  }

  /** Whether the log has room for a batch of one who writes it on a thread of its own. */
  hasRoom(batch: WriteBatch): boolean {
    return this.#logEnd.hasRoom(encodeBatch(batch).bytes)
  }

  /** Writes it so; `meanwhile` happens before the file hears of it. Whether it was taken. */
  commitGiven(batch: WriteBatch, meanwhile: () => void = () => {}): boolean {
    const { bytes } = encodeBatch(batch)
    this.#give(bytes)
    this.#logEnd.holding(() => this.#logEnd.append(bytes))
    meanwhile()
    return this.#isGivenTaken()
  }

  /** The file hears of one that could not be written. */
  commitUnwritten(batch: WriteBatch): boolean {
    this.#give(encodeBatch(batch).bytes)
    return this.#isGivenTaken()
  }

  #give(bytes: Uint8Array): void {
    this.#logEnd.give(bytes, this.#logEnd.current.last + 1)
  }

  #isGivenTaken(): boolean {
    return this.#isTaken(() => {
      this.file.takeGiven()
      this.file.judgeGiven()
    })
  }

  #isTaken(commit: () => void): boolean {
    try {
      commit()
      return true
    } catch {
      this.#refusals++
      return false
    }
  }

  load(): unknown {
    return structuredClone({ ...this.file.loadAllButJobs(), jobs: this.file.loadJobs(0, 1_000) })
  }

  /** As another thread gets it. */
  read(name: keyof DirectReads, ...args: readonly unknown[]): unknown {
    return structuredClone(this.file.read(name, args))
  }
}

/** The file as it would be found if the machine stopped now. */
export function imageOf(path: string): string {
  const image = tempPath()
  for (const end of ['', '-wal', '-log-a', '-log-b']) {
    if (existsSync(path + end)) copyFileSync(path + end, image + end)
  }
  return image
}

/** Lets what is due between calls happen, so many times. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}
