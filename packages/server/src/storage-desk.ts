import { existsSync, statSync } from 'node:fs'
import { isAbsolute, normalize } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import type { Acting, Engine } from '@fairlead/engine'
import type { Stats, StorageRecord } from '@fairlead/protocol'
import { Growth } from './metrics/growth.ts'
import type { MeteredStore } from './metrics/metered-store.ts'

/** A backup as its caller hears of it. */
export interface MadeBackup {
  readonly path: string
  /** The last batch that it has. */
  readonly batch: number
  readonly bytes: number
  /** Belongs to the backup and is not in it; null if there is none. */
  readonly keyFile: string | null
}

/** The files of the server: backups and figures. */
export class StorageDesk {
  readonly #engine: Engine
  readonly #store: MeteredStore | null
  readonly #keyFile: string | null
  /** The backup that is being made. */
  #underWay: string | null = null
  #last: { readonly at: number; readonly path: string; readonly bytes: number } | null = null
  readonly #growth = new Growth()

  constructor(parts: {
    readonly engine: Engine
    /** Null: the server was not told its store, and makes no backups. */
    readonly store: MeteredStore | null
    readonly keyFile: string | null
  }) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#keyFile = parts.keyFile
  }

  /** Null where the store does not tell. */
  async figures(): Promise<Stats['storage']> {
    const log = (await this.#store?.logFigures()) ?? null
    if (log === null) return null
    return {
      log_bytes: log.bytes,
      log_batches: Math.max(0, log.newest - log.oldest + 1),
      behind_changes: this.#engine.changesBehind,
    }
  }

  /** Looks at the sizes, so that their growth is known. */
  sample(nowMs: number): void {
    const files = this.#store?.tableFiles() ?? null
    if (files !== null) this.#growth.seen(files.tables, nowMs)
  }

  /** All that an operator wants to know of the files; null where the store does not tell. */
  async report(nowMs: number): Promise<StorageRecord | null> {
    const log = (await this.#store?.logFigures()) ?? null
    if (log === null) return null
    const { batch, appliedAt, behind } = this.#engine.tables
    const files = this.#store?.tableFiles() ?? null
    const at = appliedAt
    return {
      log: {
        bytes: log.bytes,
        batches: Math.max(0, log.newest - log.oldest + 1),
        newest: log.newest,
      },
      tables: {
        bytes: files?.tables ?? null,
        wal_bytes: files?.wal ?? null,
        behind_changes: behind,
        batch,
        checkpoint_at: at,
        checkpoint_age_ms: at === null ? null : Math.max(0, nowMs - at),
      },
      growth: files === null ? null : this.#growth.seen(files.tables, nowMs),
      disk_free_bytes: files?.free ?? null,
      journal: { oldest: this.#engine.view.journalCut.seq + 1, newest: this.#engine.lastEventSeq },
      last_backup:
        this.#last === null ? null : { ...this.#last, age_ms: Math.max(0, nowMs - this.#last.at) },
    }
  }

  /** Brings everything that was answered into the tables, and copies them while work goes on (BACKUP-1). */
  async backup(to: string, acting: Acting): Promise<MadeBackup> {
    const copy = this.#store?.backup ?? null
    if (copy === null) {
      const text =
        'this server has no store in a file, and cannot make backups; PostgreSQL is backed up with its own tools, pg_dump or pg_basebackup'
      throw new FairleadError('InvalidState', text)
    }
    const path = usablePath(to)
    if (this.#underWay !== null) {
      const text = `a backup to ${this.#underWay} is being made; try again when it is done`
      throw new FairleadError('InvalidState', text, { path: this.#underWay })
    }
    this.#underWay = path
    try {
      await this.#engine.checkpoint()
      const batch = await copy(path)
      const bytes = statSync(path).size
      await this.#engine.note({ type: 'backupMade', subject: 'store', path, batch, bytes }, acting)
      this.#last = { at: Date.now(), path, bytes }
      const keyFile = this.#keyFile !== null && existsSync(this.#keyFile) ? this.#keyFile : null
      return { path, batch, bytes, keyFile }
    } finally {
      this.#underWay = null
    }
  }
}

/** The folder of the server says nothing to its caller, so the path has to be absolute. */
function usablePath(to: string): string {
  if (!isAbsolute(to) || to.includes('\0')) {
    throw invalidParams('path', 'an absolute path on the machine of the server')
  }
  const path = normalize(to)
  if (existsSync(path)) throw invalidParams('path', 'the path of a file that does not exist yet')
  return path
}
