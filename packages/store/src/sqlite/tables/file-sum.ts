import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { crc32 } from 'node:zlib'
import { OWNER_ONLY } from '../../file-mode.ts'

/**
 * A note beside a file that was closed in order: its length and CRC32. To compare them takes a small part of the time that SQLite
 * needs to look for damage. If they differ, or there is no note, the file is read as one that was not closed.
 */
export function noteFileSum(path: string): void {
  try {
    if (existsSync(`${path}-wal`)) return
    writeFileSync(noteOf(path), textFor(path), { mode: OWNER_ONLY })
  } catch {
    // The next opening takes longer.
  }
}

/** To be asked before SQLite opens the file: closing another handle releases its locks. */
export function isAsNoted(path: string): boolean {
  try {
    const noted = readFileSync(noteOf(path), 'utf8')
    return !existsSync(`${path}-wal`) && noted === textFor(path)
  } catch {
    return false
  }
}

/** With a file that gets another name. */
export function moveFileSum(from: string, to: string): void {
  rmSync(noteOf(to), { force: true })
  if (existsSync(noteOf(from))) renameSync(noteOf(from), noteOf(to))
}

const PART_BYTES = 1_048_576

function textFor(path: string): string {
  const part = Buffer.alloc(PART_BYTES)
  let [bytes, crc] = [0, 0]
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const count = readSync(file, part, 0, PART_BYTES, bytes)
      if (count === 0) return `${bytes} bytes, CRC32 ${crc}\n`
      crc = crc32(part.subarray(0, count), crc)
      bytes += count
    }
  } finally {
    closeSync(file)
  }
}

function noteOf(path: string): string {
  return `${path}.sum`
}
