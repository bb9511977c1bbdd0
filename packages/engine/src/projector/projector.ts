import { type Clock, FairleadError } from '@fairlead/core'
import {
  type Log,
  NO_ROWS,
  type StoreReads,
  type Tables,
  type WriteBatch,
} from '@fairlead/core/internal'

/** Rows are taken this long after the last time, if changes wait. A job that ends sooner is written once. */
const TAKE_MS = 50
/** So few changes are taken at once, while the log syncs. Then no read has to wait for them. */
const FEW_CHANGES = 32
/** So many changes are not left for later, so that no take lasts long. */
const MANY_CHANGES = 4_096
/** How long to wait before rows that were refused are given again. */
const RETRY_MS = 250
/** Changes on the way to the tables from which on enqueues wait. */
const BEHIND_CHANGES = 200_000

/** The part of the state that makes rows. */
interface RowSource {
  readonly changedRows: number
  /** True if rows have to be taken before the next batch. */
  readonly hasPruned: boolean
  /** Commands of a batch that was not handed to the log yet. */
  readonly recorded: number
  takeRows(): WriteBatch
}

const NOTHING: RowSource = {
  changedRows: 0,
  hasPruned: false,
  recorded: 0,
  takeRows: () => NO_ROWS,
}

interface Taken {
  readonly rows: WriteBatch
  readonly batch: number
  readonly changes: number
}

/**
 * Brings the state into the tables, off the latency path (PROJECT-1). Rows are taken at the end of a batch, and
 * given to the tables once the log has that batch. The log is trimmed behind what is durable there.
 */
export class Projector {
  /** Reads that see everything that was answered before the call. */
  readonly read: StoreReads
  readonly #tables: Tables
  readonly #log: Log
  readonly #clock: Clock
  readonly #applied: (batch: number) => void
  #source: RowSource = NOTHING
  /** The last batch that was handed to the log, that the log has, that rows were taken of, and that the tables have. */
  #handed: number
  #stored: number
  #takenOf: number
  #inTables: number
  #takenAt = 0
  #appliedAt: number | null = null
  #cancelWake: (() => void) | null = null
  #isReadWaiting = false
  /** Set from a defect until the state was recovered. */
  #defect: unknown = null
  #logCause: unknown = null
  /** Rows whose batch the log does not have yet, and then rows that the tables do not have yet. */
  #taken: Taken[] = []
  #giving: Promise<void> | null = null
  #tablesCause: unknown = null
  #behind = 0
  #trimmed: number
  /** True at the start, because the process before may have ended in the middle of it. */
  #mustScrub = true
  #mustScrubLog = true
  #waiters: (() => void)[] = []
  #isClosed = false

  constructor(options: {
    readonly tables: Tables
    readonly log: Log
    readonly clock: Clock
    /** The batch that the tables reflect. */
    readonly batch: number
    /** Called when the tables reflect a later batch. */
    readonly applied: (batch: number) => void
  }) {
    this.#tables = options.tables
    this.#log = options.log
    this.#clock = options.clock
    this.#applied = options.applied
    this.#handed = options.batch
    this.#stored = options.batch
    this.#takenOf = options.batch
    this.#inTables = options.batch
    this.#trimmed = options.batch
    const reads = Object.entries(options.tables.read).map(([name, read]) => [
      name,
      async (...args: never[]) => {
        await this.upToDate()
        return (read as (...given: never[]) => unknown)(...args)
      },
    ])
    this.read = Object.fromEntries(reads) as StoreReads
  }

  /** True while enqueues should wait for the tables. */
  get isBehind(): boolean {
    return this.#behind > BEHIND_CHANGES
  }

  /** Changes that the tables do not have yet. */
  get behind(): number {
    return this.#behind + this.#source.changedRows
  }

  /** The last batch that the tables have, and when they took it in; null: not since the start. */
  get applied(): { readonly batch: number; readonly at: number | null } {
    return { batch: this.#inTables, at: this.#appliedAt }
  }

  /** A batch was handed to the log; the state is at its end. */
  handed(batch: number): void {
    const now = this.#clock.now()
    this.#handed = batch
    const { changedRows, hasPruned } = this.#source
    const isSmallOrLarge = changedRows <= FEW_CHANGES || changedRows >= MANY_CHANGES
    const isDue = hasPruned || isSmallOrLarge || now - this.#takenAt >= TAKE_MS
    if (isDue || this.#isReadWaiting) this.#take()
    else {
      this.#cancelWake ??= this.#clock.wakeAt(this.#takenAt + TAKE_MS, () => this.#takeLate())
    }
  }

  /** The log has this batch. `release` has to follow. */
  stored(batch: number): void {
    this.#stored = batch
    this.#logCause = null
  }

  /** Gives the tables the rows of what is stored. */
  release(): void {
    this.#give()
    this.#tell()
  }

  /** A batch of the log was applied to a state that is being recovered. */
  replayed(source: RowSource, batch: number): void {
    this.#source = source
    this.#handed = batch
    this.#stored = Math.max(this.#stored, batch)
    if (source.hasPruned || source.changedRows >= MANY_CHANGES) this.#take()
  }

  /** The log takes nothing for now. */
  refused(cause: unknown): void {
    this.#logCause = cause
    this.#tell()
  }

  /** The state has a defect, and nothing of it may reach the tables. */
  discard(cause: unknown): void {
    this.#defect = cause
    this.#cancelWake?.()
    this.#cancelWake = null
    this.#source = NOTHING
    this.#tell()
  }

  /** Resolves when the tables have all rows that were taken. What they lack comes again from the log. */
  async atRest(): Promise<void> {
    while (this.#taken.length > 0) {
      if (this.#tablesCause !== null) throw cannotRead('the tables', this.#tablesCause)
      await this.#change()
    }
    this.#takenOf = this.#inTables
  }

  /** Continues with a state that was recovered from what the tables and the log have. */
  continueWith(source: RowSource): void {
    this.#source = source
    this.#handed = this.#stored
    this.#defect = null
    this.#tell()
  }

  /** The same for everything that was handed to the log until now. */
  async whole(): Promise<StoreReads> {
    await this.upToDate(this.#handed)
    return this.#tables.read
  }

  /** Resolves when a read of the tables sees all that was answered until now. */
  async upToDate(wanted = this.#stored): Promise<void> {
    while (this.#takenOf < wanted) {
      if (this.#defect !== null) throw recovering(this.#defect)
      if (this.#logCause !== null) throw cannotRead('the log', this.#logCause)
      this.#isReadWaiting = true
      // Between two batches the state is at the end of the last one.
      if (this.#source.recorded === 0) this.#take()
      else await this.#change()
    }
    if (this.#inTables >= wanted) return
    // Rows that are taken from now on are not waited for.
    const target = this.#taken.find(({ batch }) => batch >= wanted)?.batch ?? wanted
    while (this.#inTables < target) {
      if (this.#logCause !== null && this.#stored < target) {
        throw cannotRead('the log', this.#logCause)
      }
      if (this.#tablesCause !== null) throw cannotRead('the tables', this.#tablesCause)
      await this.#change()
    }
  }

  /** Resolves once everything that was stored is in the tables, durably. */
  async sync(): Promise<number> {
    await this.upToDate()
    const durable = await this.#tables.sync()
    this.#trim(durable)
    return durable
  }

  /** Gives the tables nothing any more. Resolves when they have taken or refused what is under way. */
  async stop(): Promise<void> {
    this.#isClosed = true
    this.#cancelWake?.()
    await this.#giving
  }

  async close(): Promise<void> {
    this.#cancelWake?.()
    try {
      await this.sync()
    } finally {
      this.#isClosed = true
      this.#tell()
    }
  }

  #takeLate(): void {
    this.#cancelWake = null
    if (this.#source.recorded === 0) this.#take()
  }

  #take(): void {
    this.#cancelWake?.()
    this.#cancelWake = null
    this.#isReadWaiting = false
    this.#takenAt = this.#clock.now()
    if (this.#takenOf === this.#handed) return
    const changes = this.#source.changedRows
    this.#takenOf = this.#handed
    this.#behind += changes
    this.#taken.push({ rows: this.#source.takeRows(), batch: this.#handed, changes })
    this.#give()
    this.#tell()
  }

  #give(): void {
    const [first] = this.#taken
    if (this.#giving !== null || this.#isClosed) return
    if (first === undefined || first.batch > this.#stored) return
    this.#giving = this.#giveAll().finally(() => {
      this.#giving = null
      this.#tell()
      // The log may have got a batch since the last look.
      if (this.#tablesCause === null) this.#give()
    })
  }

  async #giveAll(): Promise<void> {
    for (let next = this.#taken[0]; next !== undefined; next = this.#taken[0]) {
      if (next.batch > this.#stored || this.#isClosed) return
      try {
        const durable = await this.#tables.apply(next.rows, next.batch)
        this.#tablesCause = null
        this.#taken.shift()
        this.#inTables = next.batch
        this.#appliedAt = this.#clock.now()
        this.#behind -= next.changes
        this.#mustScrub ||= next.rows.eraseEnded !== null
        this.#applied(next.batch)
        this.#tell()
        await this.#tidy(durable)
      } catch (cause) {
        this.#tablesCause = cause
        this.#clock.wakeAt(this.#clock.now() + RETRY_MS, () => this.#give())
        return
      }
    }
  }

  /**
   * Trims the log behind what is durable. Erased data must then not be found in any file (AUDIT-10). A step that
   * fails is taken again with the next rows.
   */
  async #tidy(durable: number): Promise<void> {
    if (!this.#mustScrub && !this.#mustScrubLog) return this.#trim(durable)
    try {
      const scrubbed = this.#mustScrub ? await this.#tables.scrub() : null
      this.#mustScrub = false
      this.#mustScrubLog ||= scrubbed !== null
      const kept = Math.max(scrubbed ?? 0, durable)
      if (!this.#mustScrubLog) return this.#trim(kept)
      // Only what is trimmed is overwritten.
      await this.#log.trim(kept)
      this.#trimmed = Math.max(this.#trimmed, kept)
      await this.#log.scrub()
      this.#mustScrubLog = false
    } catch {
      // What is left to do is known.
    }
  }

  #trim(durable: number): void {
    if (durable <= this.#trimmed) return
    const before = this.#trimmed
    this.#trimmed = durable
    this.#log.trim(durable).catch(() => {
      // The log keeps more than it has to, until the next time.
      this.#trimmed = Math.min(this.#trimmed, before)
    })
  }

  #change(): Promise<void> {
    if (this.#isClosed) throw new FairleadError('StoreUnavailable', 'the engine is closed')
    return new Promise((wake) => this.#waiters.push(wake))
  }

  #tell(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }
}

function recovering(cause: unknown): FairleadError {
  const text = 'the engine recovers from an internal error; ask again later'
  return new FairleadError('StoreUnavailable', text, {}, { cause })
}

function cannotRead(what: string, cause: unknown): FairleadError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const text = `${what} cannot be written, and this may have changed; ask again later (${why})`
  return new FairleadError('StoreUnavailable', text, {}, { cause })
}
