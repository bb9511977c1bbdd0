import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { NodeClient } from '@fairlead/client'
import { type AuditEntry, type AuditHead, brokenSeq, EMPTY_AUDIT } from '@fairlead/core'
import type { ResultOf } from '@fairlead/protocol'
import { misuse } from './flags/flags.ts'
import { escaped } from './terminal/escaped.ts'
import type { Terminal } from './terminal/terminal.ts'

type Entry = ResultOf<'audit.list'>['entries'][number]

/** What became of a check. */
export type Verified = Omit<ResultOf<'audit.verify'>, 'is_complete'>

const PAGE = 1_000

/** Entries after a number, a page at a time. */
export async function* auditPages(
  client: NodeClient,
  { afterSeq, limit }: { readonly afterSeq: number; readonly limit: number },
): AsyncIterableIterator<readonly Entry[]> {
  let left = limit
  let cursor: string | null = null
  do {
    const page: ResultOf<'audit.list'> = await client.call('audit.list', {
      ...(cursor === null ? { after_seq: afterSeq } : { cursor }),
      limit: Math.min(PAGE, left),
    })
    yield page.entries
    left -= page.entries.length
    cursor = page.cursor
  } while (cursor !== null && left > 0)
}

/** An entry in a line. */
export function auditLine(entry: Entry, { dim, bold }: Terminal['colors']): string {
  const { seq, at, actor, action, subject, details } = entry
  const time = new Date(at).toISOString()
  const more = JSON.stringify(details)
  return `${dim(String(seq).padStart(8))}  ${time}  ${actor}  ${bold(action)}  ${subject}  ${dim(more)}`
}

/** The server checks its own log, as many entries at a time as it likes. */
export async function verifyServer(client: NodeClient): Promise<Verified> {
  let checked = 0
  let head: Verified['head'] | null = null
  for (;;) {
    const answer: ResultOf<'audit.verify'> = await client.call(
      'audit.verify',
      head === null ? {} : { head },
      // A damaged journal stays so: it is told at once.
      { timeoutMs: 120_000, isRepeatable: false },
    )
    checked += answer.checked
    head = answer.head
    if (answer.broken_seq !== null || answer.is_complete) {
      return { checked, broken_seq: answer.broken_seq, broken_batch: answer.broken_batch, head }
    }
  }
}

/** A file of entries has no batches; `fairlead settle verify --audit` compares them. */
const FROM_FILE = { broken_batch: null }

/** Checks an export; one that begins in the middle is checked from its first entry on. */
export async function verifyFile(
  file: string,
  options: {
    /** The flag that named the file. */
    readonly flag?: string
    /** Gets each entry that holds, in order. */
    readonly onEntry?: (entry: AuditEntry) => void
  } = {},
): Promise<Verified> {
  const { flag = '--file', onEntry } = options
  let head: AuditHead | null = null
  let checked = 0
  let number = 0
  for await (const line of createInterface({ input: await opened(file, flag) })) {
    number++
    if (line.trim() === '') continue
    const entry = entryOf(line, `${file}, line ${number}`)
    head ??= entry.seq === 1 ? EMPTY_AUDIT : { seq: entry.seq - 1, hash: entry.prevHash }
    const broken = brokenSeq([entry], head)
    if (broken !== null) return { ...FROM_FILE, checked, broken_seq: broken, head: shown(head) }
    onEntry?.(entry)
    head = { seq: entry.seq, hash: entry.hash }
    checked++
  }
  return { ...FROM_FILE, checked, broken_seq: null, head: shown(head ?? EMPTY_AUDIT) }
}

/** Writes entries as lines; gives how many. */
export async function exportLog(
  client: NodeClient,
  options: {
    readonly afterSeq: number
    readonly file: string | null
    readonly onProgress: (done: number) => void
  },
): Promise<number> {
  const { afterSeq, file, onProgress } = options
  const out = file === null ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 })
  if (file !== null) await once(out, 'open')
  let count = 0
  for await (const page of auditPages(client, { afterSeq, limit: Number.MAX_SAFE_INTEGER })) {
    const text = page.map((entry) => `${escaped(JSON.stringify(entry))}\n`).join('')
    // A disk or a reader that is slower than the server sets the pace.
    if (text !== '' && !out.write(text)) await once(out, 'drain')
    count += page.length
    onProgress(count)
  }
  if (file !== null) {
    out.end()
    await once(out, 'finish')
  }
  return count
}

async function opened(file: string, flag: string): Promise<NodeJS.ReadableStream> {
  const stream = createReadStream(file)
  try {
    await once(stream, 'open')
    return stream
  } catch (error) {
    throw misuse(`${flag}: cannot read ${file}: ${(error as Error).message}`)
  }
}

function entryOf(line: string, location: string): AuditEntry {
  try {
    const { prev_hash, ...rest } = JSON.parse(line) as Entry
    return { ...rest, prevHash: prev_hash } as unknown as AuditEntry
  } catch (error) {
    throw misuse(`${location}: expected an entry in JSON; ${(error as Error).message}`)
  }
}

function shown(head: AuditHead): Verified['head'] {
  return { seq: head.seq, hash: head.hash }
}
