import { invariant } from '@fairlead/core/internal'
import type { LogFault } from '../src/conformance/log-faults.ts'
import { type Disk, OS_DISK } from '../src/log-files/disk.ts'

/** The disk of the machine with faults: an act fails, or the process dies. A sync is only counted, as the power stays on. */
export class FaultyDisk implements Disk {
  readonly #files = new Set<number>()
  #fault: LogFault | null = null
  #times = 0
  #isCutShort = false
  #folderFaults = 0
  /** Counts syncs and written bytes. */
  syncs = 0
  written = 0

  /** The next so many writes fail, or syncs if the fault is one of these. */
  fail(fault: LogFault, times: number): void {
    this.#fault = fault
    this.#times = times
  }

  /** The next so many syncs of the folder fail. */
  failFolder(times: number): void {
    this.#folderFaults = times
  }

  /** Closes what is open, as the system does when a process dies. */
  die(): void {
    for (const file of this.#files) OS_DISK.close(file)
    this.#files.clear()
    this.#times = 0
    this.#isCutShort = false
  }

  write(file: number, buffers: readonly Uint8Array[], at: number): number {
    if (this.#isCutShort || this.#fails('full')) {
      this.#isCutShort = false
      throw systemError('ENOSPC')
    }
    if (this.#fails('short')) {
      const all = Buffer.concat(buffers)
      // Then the rest is written, and there is no room for it.
      this.#isCutShort = true
      return OS_DISK.write(file, [all.subarray(0, all.length >> 1)], at)
    }
    const written = OS_DISK.write(file, buffers, at)
    this.written += written
    return written
  }

  sync(file: number): void {
    if (this.#fails('sync')) throw systemError('EIO')
    invariant(this.#files.has(file), 'the file is open')
    this.syncs++
    if (this.#fails('late')) throw systemError('EIO')
  }

  #fails(fault: LogFault): boolean {
    if (this.#fault !== fault || this.#times === 0) return false
    this.#times--
    return true
  }

  create(path: string): number {
    return this.#keep(OS_DISK.create(path))
  }

  open(path: string, mode: 'r' | 'r+'): number {
    return this.#keep(OS_DISK.open(path, mode))
  }

  #keep(file: number): number {
    this.#files.add(file)
    return file
  }

  close(file: number): void {
    this.#files.delete(file)
    OS_DISK.close(file)
  }

  readonly names = OS_DISK.names
  readonly size = OS_DISK.size
  readonly read = OS_DISK.read
  readonly rename = OS_DISK.rename
  readonly remove = OS_DISK.remove

  syncFolder(): void {
    if (this.#folderFaults-- > 0) throw systemError('EMFILE')
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: a fault of the test`), { code })
}
