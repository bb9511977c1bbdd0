import type { AttemptLog, Clock, JobId, JobLogs, LogLine } from '@fairlead/core'
import type { JournalRecord } from '@fairlead/core/internal'

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
  progress: AttemptLog['progress']
}

/** Events by which attempts end; their subject is the job. */
const ENDS: ReadonlySet<string> = new Set([
  'jobCompleted',
  'jobRequeued',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
])

/** Gathers log lines and progress, and saves them once a second and at the end of an attempt (PROGRESS-3). */
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
    const at = this.#clock.now()
    const tail = this.#tailOf(jobId, attempt)
    for (const text of texts) push(tail, { at, text: cut(text) })
  }

  /** How far the attempt has come. Null leaves what was said before. */
  note(
    jobId: JobId,
    attempt: number,
    { percent, message }: { readonly percent: number | null; readonly message: string | null },
  ): void {
    if (percent === null && message === null) return
    const tail = this.#tailOf(jobId, attempt)
    const { progress: before } = tail
    tail.progress = {
      percent: percent ?? before?.percent ?? null,
      message: message ?? before?.message ?? null,
      at: this.#clock.now(),
    }
  }

  /** Saves at once what attempts have said that have ended now. */
  ended(journal: readonly JournalRecord[]): void {
    if (this.#open.size === 0) return
    const jobs = new Set([...this.#open.values()].map(({ jobId }) => jobId as string))
    if (journal.some(({ action, subject }) => ENDS.has(action) && jobs.has(subject))) this.save()
  }

  #tailOf(jobId: JobId, attempt: number): Tail {
    const key = `${jobId} ${attempt}`
    let tail = this.#open.get(key)
    if (tail === undefined) {
      // What was saved of this attempt before counts too.
      const saved = this.#file.read(jobId).find((log) => log.attempt === attempt)
      const { dropped = 0, progress = null } = saved ?? {}
      tail = { jobId, attempt, lines: [], bytes: 0, dropped, progress }
      for (const line of saved?.lines ?? []) push(tail, line)
      this.#open.set(key, tail)
    }
    this.#cancelSave ??= this.#clock.wakeAt(this.#clock.now() + SAVE_MS, () => this.save())
    return tail
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

function logOf({ jobId, attempt, lines, dropped, progress }: Tail): AttemptLog {
  return { jobId, attempt, lines: [...lines], dropped, progress }
}

function cut(text: string): string {
  const line = text.toWellFormed()
  return line.length <= LINE_CHARACTERS_MAX ? line : `${line.slice(0, LINE_CHARACTERS_MAX - 1)}…`
}
