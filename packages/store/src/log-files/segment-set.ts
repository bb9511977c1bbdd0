import { invariant } from '@fairlead/core/internal'
import { type Disk, filesOf } from './disk.ts'
import { Segment } from './segment.ts'
import { HEADER_BYTES } from './segment-header.ts'

/** Segments that are kept for later use. More are removed. */
const FREE_MAX = 2
const BLOCK_BYTES = 4_096

/** The segments of an open log: those that have its records, and free ones. */
export class SegmentSet {
  readonly #disk: Disk
  readonly #path: string
  readonly #storeId: Uint8Array
  readonly #segmentBytes: number
  readonly #live: Segment[]
  readonly #free: Segment[]
  /** The generation of the current segment. */
  #generation: number
  /** A segment that is the next one, if the old one names it. */
  #begun: Segment | null = null

  constructor(
    disk: Disk,
    options: {
      readonly path: string
      readonly storeId: Uint8Array
      readonly segmentBytes: number
      readonly live: readonly Segment[]
      readonly free: readonly Segment[]
    },
  ) {
    this.#disk = disk
    this.#path = options.path
    this.#storeId = options.storeId
    this.#segmentBytes = options.segmentBytes
    this.#live = [...options.live]
    this.#free = [...options.free]
    this.#generation = Math.max(0, ...this.all.map(({ header }) => header.generation))
  }

  get all(): readonly Segment[] {
    return [...this.#live, ...this.#free]
  }

  get live(): readonly Segment[] {
    return this.#live
  }

  get free(): readonly Segment[] {
    return this.#free
  }

  /** Where records are appended. */
  get current(): Segment {
    const current = this.#live.at(-1)
    invariant(current !== undefined, 'a log has a segment')
    return current
  }

  /** Begins the log behind a batch. */
  begin(after: number): void {
    const segment = this.#takeFree(0)
    this.#use(segment, { first: after + 1, chain: 0, isStart: true })
    this.#enlist(segment)
  }

  /**
   * Continues the log in another segment, with room for so many bytes. The new one is begun before the old one names it,
   * and both are durable before a record follows: so if its file disappears, that is noticed.
   */
  turn(bytes: number, { isStart }: { readonly isStart: boolean }): void {
    const { current } = this
    current.sync()
    // After an error nobody knows if the old one names it. So it keeps its generation.
    const segment = this.#begun ?? this.#takeFree(bytes)
    this.#begun = segment
    const mark = current.last
    this.#use(segment, { first: mark + 1, chain: current.lastCrc, isStart })
    current.change({ next: segment.header.generation, mark })
    current.sync()
    this.#enlist(segment)
    if (isStart) this.#free.push(...this.#live.splice(0, this.#live.length - 1))
  }

  /** Trims up to a batch of the log, durably. `mark` is the newest batch that is synced. */
  trim(upTo: number, mark: number): void {
    const segment = this.#live.find(({ last }) => last > upTo) ?? this.current
    segment.trim(upTo, mark)
    segment.sync()
    this.#free.push(...this.#live.splice(0, this.#live.indexOf(segment)))
  }

  /** Makes a second segment, so that the log need not wait for it. */
  prepare(): void {
    if (this.all.length < 2) this.#free.push(this.#create(this.#segmentBytes))
  }

  /** A free segment that is too many or has an unusual size; it is no longer in the set. */
  takeSurplus(): Segment | null {
    const spare = this.#free.filter((segment) => segment !== this.#begun)
    const isOdd = ({ header }: Segment): boolean => header.size !== this.#segmentBytes
    const surplus = spare.find(isOdd) ?? (spare.length > FREE_MAX ? spare.at(-1) : undefined)
    if (surplus === undefined) return null
    this.#free.splice(this.#free.indexOf(surplus), 1)
    return surplus
  }

  close(): void {
    for (const segment of this.all) segment.close()
  }

  /** Takes one back that could not be removed, if its file is still there. */
  takeBack(segment: Segment): void {
    const { numbers } = filesOf(this.#disk, this.#path)
    if (numbers.includes(segment.number)) this.#free.push(segment)
  }

  #use(
    segment: Segment,
    { first, chain, isStart }: { first: number; chain: number; isStart: boolean },
  ): void {
    segment.change({
      generation: this.#generation + 1,
      first,
      beginAt: HEADER_BYTES,
      chain,
      isStart,
      mark: first - 1,
      next: 0,
    })
    segment.sync()
  }

  #enlist(segment: Segment): void {
    this.#free.splice(this.#free.indexOf(segment), 1)
    this.#live.push(segment)
    this.#generation = segment.header.generation
    this.#begun = null
  }

  #takeFree(bytes: number): Segment {
    const size = HEADER_BYTES + bytes
    const found = this.#free.find(({ header }) => header.size >= size)
    if (found !== undefined) return found
    const blocks = Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
    const created = this.#create(Math.max(this.#segmentBytes, blocks))
    this.#free.push(created)
    return created
  }

  #create(size: number): Segment {
    const { numbers } = filesOf(this.#disk, this.#path)
    // One that was just removed from the set may still have its file.
    const taken = new Set([...numbers, ...this.all.map(({ number }) => number)])
    let number = 1
    while (taken.has(number)) number++
    return Segment.create(this.#disk, this.#path, { number, storeId: this.#storeId, size })
  }
}
