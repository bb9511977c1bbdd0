import { ByteReader, ByteWriter } from '../commands/byte-codec.ts'
import type { Command } from '../commands/command.ts'
import { COMMAND_FORMAT, putCommand, takeCommand } from '../commands/command-codec.ts'

/** A command and the time at which it was applied. */
export interface LogEntry {
  readonly command: Command
  readonly at: number
}

/** Commands that are stored together, in order. The boundary between two batches has no meaning (COMMAND-3). */
export interface LogBatch {
  readonly entries: readonly LogEntry[]
  /** Covers every decision until the end of this batch (COMMAND-5). */
  readonly digest: number
}

const writer = new ByteWriter()

/** The recorded form of a batch: format, digest, and each command after the time since the one before it. */
export function encodeBatch({ entries, digest }: LogBatch): Uint8Array {
  writer.byte(COMMAND_FORMAT)
  writer.uint(digest)
  writer.uint(entries.length)
  let before = 0
  for (const { command, at } of entries) {
    writer.uint(at - before)
    putCommand(writer, command)
    before = at
  }
  return writer.done()
}

/** The bytes of a record are no batch of commands, or of another format. */
export class UnreadableBatch extends Error {
  override readonly name = 'UnreadableBatch'
  readonly batch: number

  constructor(batch: number, options: { readonly cause: unknown }) {
    const why = options.cause instanceof Error ? options.cause.message : String(options.cause)
    super(`batch ${batch}: its commands cannot be read (${why})`, options)
    this.batch = batch
  }
}

/** Throws if the bytes are no batch of this format. */
export function decodeBatch(bytes: Uint8Array): LogBatch {
  const reader = new ByteReader(bytes)
  const format = reader.byte()
  if (format !== COMMAND_FORMAT) {
    throw new RangeError(`the batch has format ${format}; this version reads ${COMMAND_FORMAT}`)
  }
  const digest = reader.uint()
  const entries: LogEntry[] = []
  let at = 0
  for (let left = reader.uint(); left > 0; left--) {
    at += reader.uint()
    entries.push({ command: takeCommand(reader), at })
  }
  if (!reader.isAtEnd) throw new RangeError('bytes follow the last command of the batch')
  return { entries, digest }
}
