import {
  closeSync,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writevSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { OWNER_ONLY } from '../file-mode.ts'

/** The calls of a log to the operating system. Tests put faults in between. */
export interface Disk {
  /** The names in the folder of a path. */
  names(path: string): string[]
  create(path: string): number
  open(path: string, mode: 'r' | 'r+'): number
  size(file: number): number
  /** Returns how many bytes it read: fewer at the end of the file. */
  read(file: number, into: Uint8Array, at: number): number
  /** Returns how many bytes it wrote. */
  write(file: number, buffers: readonly Uint8Array[], at: number): number
  sync(file: number): void
  close(file: number): void
  rename(from: string, to: string): void
  remove(path: string): void
  /** Makes creations, names and removals in the folder of a path durable. */
  syncFolder(path: string): void
}

export const OS_DISK: Disk = {
  names: (path) => readdirSync(dirname(path)),
  create: (path) => {
    const file = openSync(path, 'wx+', OWNER_ONLY)
    // The umask may have taken even the owner's rights.
    fchmodSync(file, OWNER_ONLY)
    return file
  },
  open: (path, mode) => openSync(path, mode),
  size: (file) => fstatSync(file).size,
  read: (file, into, at) => readSync(file, into, 0, into.length, at),
  write: (file, buffers, at) => writevSync(file, [...buffers], at),
  sync: (file) => fdatasyncSync(file),
  close: (file) => closeSync(file),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => rmSync(path, { force: true }),
  syncFolder: (path) => {
    const folder = openSync(dirname(path), 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  },
}

/** Writes all of the buffers, however many calls that takes. */
export function writeAll(
  disk: Disk,
  file: number,
  buffers: readonly Uint8Array[],
  at: number,
): void {
  const bytes = buffers.reduce((sum, { length }) => sum + length, 0)
  let written = disk.write(file, buffers, at)
  if (written === bytes) return
  const rest = Buffer.concat(buffers)
  while (written < bytes) {
    const more = disk.write(file, [rest.subarray(written)], at + written)
    if (more === 0) throw new Error('the disk took no more bytes')
    written += more
  }
}

/** Larger pieces become larger pages of the system, which each sync looks through. */
const ZEROS = Buffer.alloc(65_536)

export function writeZeros(disk: Disk, file: number, from: number, until: number): void {
  for (let at = from; at < until; at += ZEROS.length) {
    writeAll(disk, file, [ZEROS.subarray(0, Math.min(ZEROS.length, until - at))], at)
  }
}

/** The bytes of a range, or those up to the end of the file. */
export function readRange(disk: Disk, file: number, at: number, bytes: number): Buffer {
  // Not from the pool of small buffers: a page of records is transferred to another thread.
  const into = Buffer.from(new ArrayBuffer(bytes))
  let read = 0
  while (read < bytes) {
    const more = disk.read(file, into.subarray(read), at + read)
    if (more === 0) break
    read += more
  }
  return into.subarray(0, read)
}

/** The files of the log of a store by their numbers, and what a crash left of files that were being made. */
export function filesOf(
  disk: Disk,
  path: string,
): { readonly numbers: readonly number[]; readonly unfinished: readonly string[] } {
  const prefix = `${basename(path)}-log-`
  const rests = disk
    .names(path)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
  return {
    numbers: rests
      .filter((rest) => /^[1-9]\d*$/.test(rest))
      .map(Number)
      .sort((a, b) => a - b),
    unfinished: rests
      .filter((rest) => /^[1-9]\d*\.new$/.test(rest))
      .map((rest) => join(dirname(path), prefix + rest)),
  }
}

export function fileOf(path: string, number: number): string {
  return `${path}-log-${number}`
}
