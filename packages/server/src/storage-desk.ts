import { existsSync, statSync } from 'node:fs'
import { isAbsolute, normalize } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { invalidParams } from '@fairlead/core/internal'
import type { Acting, Engine } from '@fairlead/engine'
import type { Stats } from '@fairlead/protocol'
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

  /** Brings everything that was answered into the tables, and copies them while work goes on (BACKUP-1). */
  async backup(to: string, acting: Acting): Promise<MadeBackup> {
    const copy = this.#store?.backup ?? null
    if (copy === null) {
      const text = 'this server has no store in a file, and cannot make backups'
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
