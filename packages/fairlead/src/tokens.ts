import { existsSync } from 'node:fs'
import { scopeText, TokenFile, type TokenRecord } from '@fairlead/server/tokens'
import type { Config } from './config/load-config.ts'
import { besideStore, isPostgres, shownStore } from './storage/store-address.ts'
import { table } from './terminal/table.ts'

/** Where the tokens of an installation are kept: beside its store, unless it says otherwise. */
export function tokensPath({ settings }: Config): string {
  return settings.tokens.path ?? `${besideStore(settings.store.path)}.tokens.json`
}

export function openTokens(config: Config): TokenFile {
  return new TokenFile(tokensPath(config))
}

const ANSWER_MS = 1_000

/** Which server reads the tokens, and a warning where none seems to. */
export async function readerNotes(config: Config): Promise<string[]> {
  const { store, client } = config.settings
  const notes = [
    `Written to ${tokensPath(config)}, which a server on ${shownStore(store.path)} reads.`,
  ]
  if (isPostgres(store.path)) return notes
  const advice = 'Use the folder, --store or --config of your server.'
  if (!existsSync(store.path)) {
    notes.push(`Warning: there is no store ${store.path}, so no server reads this yet. ${advice}`)
  }
  // A server holds its store for as long as it runs; it writes the name of its process beside it.
  const isHeld = existsSync(`${store.path}.holder`)
  if (!isHeld && (await isAnswering(client.url))) {
    notes.push(
      `Warning: the server at ${client.url} runs on another store and does not know this token. ${advice}`,
    )
  }
  return notes
}

/** True if a server answers there. */
export async function isAnswering(url: string): Promise<boolean> {
  const base = url.replace(/^ws/, 'http').replace(/\/+$/, '')
  try {
    return (await fetch(`${base}/livez`, { signal: AbortSignal.timeout(ANSWER_MS) })).ok
  } catch {
    return false
  }
}

/** Tokens as a table. */
export function tokensTable(records: readonly TokenRecord[], nowMs = Date.now()): string[] {
  const rows = records.map((record) => [
    record.id,
    record.role,
    record.subject,
    record.tier,
    new Date(record.createdAt).toISOString(),
    validity(record, nowMs),
    scopeText(record.scope),
  ])
  const titles = ['id', 'role', 'subject', 'tier', 'created', 'valid', 'scope']
  return table(
    titles.map((title) => ({ title })),
    rows,
  )
}

function validity({ expiresAt, revokedAt }: TokenRecord, nowMs: number): string {
  if (revokedAt !== null) return `revoked ${new Date(revokedAt).toISOString()}`
  if (expiresAt === null) return 'for good'
  const time = new Date(expiresAt).toISOString()
  return expiresAt <= nowMs ? `expired ${time}` : `until ${time}`
}
