import { TokenFile, type TokenRecord } from '@fairlead/server/tokens'
import type { Config } from './config/load-config.ts'
import { table } from './table.ts'

/** Where the tokens of an installation are kept: beside its store, unless it says otherwise. */
export function tokensPath({ settings }: Config): string {
  return settings.tokens.path ?? `${settings.store.path}.tokens.json`
}

export function openTokens(config: Config): TokenFile {
  return new TokenFile(tokensPath(config))
}

/** Tokens as a table. */
export function tokensTable(records: readonly TokenRecord[], nowMs = Date.now()): string {
  const rows = records.map((record) => [
    record.id,
    record.role,
    record.subject,
    record.tier,
    new Date(record.createdAt).toISOString(),
    validity(record, nowMs),
  ])
  const titles = ['id', 'role', 'subject', 'tier', 'created', 'valid']
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
