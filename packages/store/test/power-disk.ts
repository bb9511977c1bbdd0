import { invariant } from '@fairlead/core/internal'
import type { Disk } from '../src/log-files/disk.ts'

const SECTOR_BYTES = 512

interface File {
  /** The bytes that the system has, and those that the disk has. */
  cached: Buffer
  stored: Buffer
  readonly dirty: Set<number>
}

/**
 * A disk in memory that loses its power. After that, any of the sectors and names that were not synced may be
 * there. A sync that fails is as in Linux: nobody knows what it wrote, and the system holds all for written.
 */
export class PowerDisk implements Disk {
  /** True as often as it likes. */
  readonly #coin: () => boolean
  #names = new Map<string, File>()
  #storedNames = new Map<string, File>()
  readonly #open = new Map<number, File>()
  #lastFile = 0
  /** So many syncs from now, one fails, or the power goes; never if negative. */
  failAfter = -1
  cutAfter = -1
  #isOff = false

  constructor(coin: () => boolean) {
    this.#coin = coin
  }

  /** The power comes back. */
  restart(): void {
    this.#open.clear()
    this.failAfter = -1
    this.cutAfter = -1
    this.#isOff = false
    const names = new Map<string, File>()
    for (const name of new Set([...this.#names.keys(), ...this.#storedNames.keys()])) {
      const [now, stored] = [this.#names.get(name), this.#storedNames.get(name)]
      const file = now === stored || this.#coin() ? now : stored
      if (file !== undefined) names.set(name, file)
    }
    for (const file of new Set(names.values())) {
      this.#store(file)
      file.cached = Buffer.from(file.stored)
    }
    this.#names = names
    this.#storedNames = new Map(names)
  }

  /** Some sectors reach the disk. */
  #store(file: File): void {
    const { cached, dirty } = file
    const stored = Buffer.alloc(cached.length)
    file.stored.copy(stored)
    for (const sector of dirty) {
      const at = sector * SECTOR_BYTES
      if (this.#coin()) cached.copy(stored, at, at, at + SECTOR_BYTES)
    }
    file.stored = stored
    dirty.clear()
  }

  names(): string[] {
    return [...this.#names.keys()].map((name) => name.slice(name.lastIndexOf('/') + 1))
  }

  create(path: string): number {
    if (this.#isOff) throw ioError()
    invariant(!this.#names.has(path), 'the file is new')
    this.#names.set(path, {
      cached: Buffer.alloc(0),
      stored: Buffer.alloc(0),
      dirty: new Set(),
    })
    return this.open(path)
  }

  open(path: string): number {
    if (this.#isOff) throw ioError()
    const file = this.#names.get(path)
    invariant(file !== undefined, 'the file is there')
    this.#open.set(++this.#lastFile, file)
    return this.#lastFile
  }

  size(file: number): number {
    return this.#fileOf(file).cached.length
  }

  read(file: number, into: Uint8Array, at: number): number {
    return this.#fileOf(file).cached.copy(into, 0, at, at + into.length)
  }

  write(file: number, buffers: readonly Uint8Array[], at: number): number {
    const found = this.#fileOf(file)
    const bytes = Buffer.concat(buffers)
    const end = at + bytes.length
    if (end > found.cached.length) {
      found.cached = Buffer.concat([found.cached, Buffer.alloc(end - found.cached.length)])
    }
    bytes.copy(found.cached, at)
    const last = Math.floor((end - 1) / SECTOR_BYTES)
    for (let n = Math.floor(at / SECTOR_BYTES); n <= last; n++) found.dirty.add(n)
    return bytes.length
  }

  sync(file: number): void {
    const found = this.#fileOf(file)
    if (this.cutAfter-- === 0) this.#isOff = true
    if (this.#isOff) throw ioError()
    if (this.failAfter-- === 0) {
      this.#store(found)
      throw ioError()
    }
    found.stored = Buffer.from(found.cached)
    found.dirty.clear()
  }

  close(file: number): void {
    this.#open.delete(file)
  }

  rename(from: string, to: string): void {
    if (this.#isOff) throw ioError()
    const file = this.#names.get(from)
    invariant(file !== undefined, 'the file is there')
    this.#names.delete(from)
    this.#names.set(to, file)
  }

  remove(path: string): void {
    if (!this.#isOff) this.#names.delete(path)
  }

  syncFolder(): void {
    if (this.#isOff) throw ioError()
    this.#storedNames = new Map(this.#names)
  }

  #fileOf(file: number): File {
    if (this.#isOff) throw ioError()
    const found = this.#open.get(file)
    invariant(found !== undefined, 'the file is open')
    return found
  }
}

function ioError(): Error {
  return Object.assign(new Error('EIO: a fault of the test'), { code: 'EIO' })
}
