import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { OpenLog } from '../src/conformance/log-conformance.ts'
import type { LogFilesOptions } from '../src/log-files/open-log.ts'
import { type FileLog, type LogReport, openLogFiles } from '../src/log-files/open-log.ts'
import { FaultyDisk } from './faulty-disk.ts'
import { tempPath } from './temp-store.ts'

export const STORE_ID = Uint8Array.from({ length: 16 }, (_, i) => i)
/** The header, and room for a few records. */
export const SMALL = 16_384

/** A log on this thread, in a folder of its own. */
export class TempLog {
  readonly path: string
  readonly disk = new FaultyDisk()
  #options: LogFilesOptions
  #log: FileLog | null = null

  constructor(options: Partial<LogFilesOptions> = {}, path = tempPath()) {
    this.path = path
    this.#options = { storeId: STORE_ID, createAfter: 0, segmentBytes: SMALL, ...options }
  }

  get log(): FileLog {
    if (this.#log === null) throw new Error('it is not open')
    return this.#log
  }

  async open(): Promise<LogReport> {
    const { log, report } = await openLogFiles(this.path, this.#options, this.disk)
    this.#log = log
    this.#options = { ...this.#options, createAfter: null }
    return report
  }

  async close(): Promise<void> {
    await this.#log?.close()
    this.#log = null
  }

  /** As the death of the process leaves it. */
  crash(): void {
    this.disk.die()
    this.#log = null
  }

  async reopen(): Promise<FileLog> {
    await this.close()
    await this.open()
    return this.log
  }

  async reopenAfterCrash(): Promise<FileLog> {
    this.crash()
    await this.open()
    return this.log
  }

  /** The contents of its files by their numbers. */
  files(): Map<number, Buffer> {
    const folder = dirname(this.path)
    const prefix = `${basename(this.path)}-log-`
    const names = readdirSync(folder).filter((name) => name.startsWith(prefix))
    return new Map(
      names.map((name) => [Number(name.slice(prefix.length)), readFileSync(join(folder, name))]),
    )
  }

  file(number: number): string {
    return `${this.path}-log-${number}`
  }

  /** Puts contents in place of those of its files. */
  put(files: ReadonlyMap<number, Buffer>): void {
    for (const [number, content] of files) writeFileSync(this.file(number), content)
  }
}

/** For the conformance suite. */
export async function openTempLog(afterBatch: number): Promise<OpenLog> {
  const temp = new TempLog({ createAfter: afterBatch })
  await temp.open()
  return {
    log: temp.log,
    reopen: () => temp.reopen(),
    crash: () => temp.reopenAfterCrash(),
    fail: (fault, times) => temp.disk.fail(fault, times),
    remove: async () => temp.crash(),
  }
}
