import type { AttemptLog, Clock, JobId, JobLogs, LogLine } from '@fairlead/core'

const LINES_MAX = 1_000
const BYTES_MAX = 65_536
const LINE_CHARACTERS_MAX = 4_096
/** How long lines wait for those after them. */
const SAVE_MS = 1_000
const PRUNE_MS = 600_000
const PRUNED_AT_ONCE = 500

interface Tail {
  readonly jobId: JobId
  readonly attempt: number
  readonly lines: LogLine[]
  bytes: number
  dropped: number
}

/** Gathers log lines and saves them once a second (PROGRESS-3). */
export class LogDesk {
  readonly #file: JobLogs
  readonly #clock: Clock
  readonly #isGone: (jobId: JobId) => Promise<boolean>
  readonly #open = new Map<string, Tail>()
  #cancelSave: (() => void) | null = null
  #prunedAt: number

  constructor(file: JobLogs, clock: Clock, isGone: (jobId: JobId) => Promise<boolean>) {
    this.#file = file
    this.#clock = clock
    this.#isGone = isGone
    this.#prunedAt = clock.now()
  }

  add(jobId: JobId, attempt: number, texts: readonly string[]): void {
    if (texts.length === 0) return
    const key = `${jobId} ${attempt}`
    let tail = this.#open.get(key)
    if (tail === undefined) {
      // Lines of this attempt that were saved before count too.
      const saved = this.#file.read(jobId).find((log) => log.attempt === attempt)
      tail = { jobId, attempt, lines: [], bytes: 0, dropped: saved?.dropped ?? 0 }
      for (const line of saved?.lines ?? []) push(tail, line)
      this.#open.set(key, tail)
    }
    const at = this.#clock.now()
    for (const text of texts) push(tail, { at, text: cut(text) })
    this.#cancelSave ??= this.#clock.wakeAt(at + SAVE_MS, () => this.save())
  }

  /** Of one job, the oldest attempt first, the lines that are not saved yet included. */
  read(jobId: JobId): AttemptLog[] {
    const logs = new Map(this.#file.read(jobId).map((log) => [log.attempt, log]))
    for (const tail of this.#open.values())
      if (tail.jobId === jobId) logs.set(tail.attempt, logOf(tail))
    return [...logs.values()].sort((a, b) => a.attempt - b.attempt)
  }

  save(): void {
    this.#cancelSave?.()
    this.#cancelSave = null
    if (this.#open.size > 0) this.#file.save([...this.#open.values()].map(logOf))
    this.#open.clear()
    const now = this.#clock.now()
    if (now - this.#prunedAt < PRUNE_MS) return
    this.#prunedAt = now
    void this.#prune().catch(() => undefined)
  }

  close(): void {
    this.save()
    this.#file.close()
  }

  /** Lines go with their job. */
  async #prune(): Promise<void> {
    let after: JobId | null = null
    for (;;) {
      const ids: JobId[] = this.#file.jobsAfter(after, PRUNED_AT_ONCE)
      const gone: JobId[] = []
      for (const id of ids) if (await this.#isGone(id)) gone.push(id)
      this.#file.delete(gone)
      after = ids.at(-1) ?? null
      if (ids.length < PRUNED_AT_ONCE) return
    }
  }
}

/** The newest lines stay. */
function push(tail: Tail, line: LogLine): void {
  tail.lines.push(line)
  tail.bytes += Buffer.byteLength(line.text)
  while (tail.lines.length > LINES_MAX || (tail.bytes > BYTES_MAX && tail.lines.length > 1)) {
    tail.bytes -= Buffer.byteLength(tail.lines.shift()?.text ?? '')
    tail.dropped++
  }
}

function logOf({ jobId, attempt, lines, dropped }: Tail): AttemptLog {
  return { jobId, attempt, lines: [...lines], dropped }
}

function cut(text: string): string {
  const line = text.toWellFormed()
  return line.length <= LINE_CHARACTERS_MAX ? line : `${line.slice(0, LINE_CHARACTERS_MAX - 1)}…`
}
