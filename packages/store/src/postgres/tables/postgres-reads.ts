import type {
  AuditEntry,
  FailureRow,
  FairleadError,
  JobRow,
  LeaseRow,
  ProviderId,
  ResultRow,
} from '@fairlead/core'
import { hasEnded, toHex } from '@fairlead/core'
import {
  type Assigned,
  isHex32,
  type JobFilter,
  type SettlementPart,
  type StoreReads,
} from '@fairlead/core/internal'
import type { Client } from 'pg'
import { isIdPrefix } from '../../id-prefix.ts'
import { entryOf } from '../../rows/record-codec.ts'
import {
  FAILURE,
  JOB,
  LEASE,
  PAYLOAD,
  RESULT,
  ROUND,
  type RowType,
  rowOf,
  SETTLEMENT,
  STORED_PART,
} from '../../rows/rows.ts'
import type { SqlValue } from '../../sqlite/driver.ts'
import { unavailable } from '../../unavailable.ts'
import type { Address } from '../address.ts'
import { escaped, idHex, type Param } from '../cells.ts'
import { run, type Values } from '../connection.ts'
import type { Readers } from '../readers.ts'

/** A length of `0x` and 64 digits. */
const ID_LENGTH = 66

/** The read side: any connection sees what was committed, and an apply resolves when it is. */
export function postgresReads(
  readers: Readers,
  address: Address,
  everything: StoreReads['everything'],
): StoreReads {
  const rowsOf = async (name: string, values: Values): Promise<SqlValue[][]> =>
    (await readers.ask((client) => run(client, name, values))).rows
  const all = async <Row extends object>(
    type: RowType<Row>,
    name: string,
    values: Values,
  ): Promise<Row[]> => (await rowsOf(name, values)).map((cells) => rowOf(type, cells))
  const one = async <Row extends object>(
    type: RowType<Row>,
    name: string,
    values: Values,
  ): Promise<Row | null> => (await all(type, name, values))[0] ?? null
  const entries = async (name: string, values: Values): Promise<AuditEntry[]> =>
    (await rowsOf(name, values)).map((cells) => journalEntry(cells, address))
  const at = (limit: number): number => Math.max(0, limit)

  return {
    // Under a text that is no id there is nothing (STORE-8).
    job: async (id) => (isHex32(id) ? one<JobRow>(JOB, 'find-job', { id: idHex(id) }) : null),
    lease: async (id) =>
      isHex32(id) ? one<LeaseRow>(LEASE, 'find-lease', { id: idHex(id) }) : null,
    result: async (id) =>
      isHex32(id) ? one<ResultRow>(RESULT, 'find-result', { id: idHex(id) }) : null,
    leases: async (id) =>
      isHex32(id) ? all<LeaseRow>(LEASE, 'list-leases', { id: idHex(id) }) : [],
    failures: async (id) =>
      isHex32(id) ? all<FailureRow>(FAILURE, 'list-failures', { id: idHex(id) }) : [],
    timeline: async (id) => (isHex32(id) ? entries('list-timeline', { id: idHex(id) }) : []),
    journal: (after, limit) => entries('list-journal', { after, limit: at(limit) }),
    jobs: async (filter) => {
      const listed = listOf(filter)
      return listed === null ? [] : all<JobRow>(JOB, listed.name, listed.values)
    },
    jobsByTx: async (keys) => {
      if (keys.length === 0) return []
      const values = {
        callers: keys.map(({ caller }) => idHex(caller)),
        tx_hashes: keys.map(({ txHash }) => idHex(txHash)),
      }
      const found = new Map(
        (await rowsOf('find-jobs-by-key', values)).map((cells) => {
          const [caller, txHash, id, payload] = cells as Uint8Array[]
          const job = { id: toHex(id as Uint8Array) as JobRow['id'], payload: bytesOf(payload) }
          return [`${toHex(caller as Uint8Array)}${toHex(txHash as Uint8Array)}`, job]
        }),
      )
      return keys.map(({ caller, txHash }) => found.get(`${caller}${txHash}`) ?? null)
    },
    payloads: async (jobs) => {
      if (jobs.length === 0) return []
      const rows = await all(PAYLOAD, 'find-payloads', { jobs: [...new Set(jobs)] })
      const found = new Map(rows.map(({ jobSeq, payload }) => [jobSeq, payload]))
      return jobs.map((job) => found.get(job) ?? null)
    },
    round: (height, kind) => one(ROUND, 'find-round', { height, kind }),
    settlements: async (before, limit) => {
      const rows = await all(SETTLEMENT, 'list-settlements', { before, limit: at(limit) })
      return rows.map(({ due: _due, ...head }) => head)
    },
    settlementParts: async (epoch) => {
      const rows = await all(STORED_PART, 'list-settlement-parts', { epoch })
      return rows.map(({ epochId: _epochId, ...part }): SettlementPart => part)
    },
    assignmentsSince: async (since) => {
      const rows = await rowsOf('list-assignments', { since })
      return rows.map(
        ([caller, start]): Assigned => ({
          caller: toHex(caller as Uint8Array) as Assigned['caller'],
          at: start as number,
        }),
      )
    },
    everything,
  }
}

/** An entry of list-journal or list-timeline, whose details are in one of two columns. */
export function journalEntry(cells: readonly SqlValue[], { shown }: Address): AuditEntry {
  const [seq, at, actor, action, subject, json, cbor, hash, before] = cells as SqlValue[] & {
    length: 9
  }
  const details = json ?? cbor
  const row = [seq, at, actor, action, subject, details, hash, before] as SqlValue[]
  return entryOf(row, (what): FairleadError => {
    const problem = `in table journal, ${what} does not fit its hash`
    const advice = `it is damaged: ${problem}; go back to the last backup`
    return unavailable(shown, 'damaged', advice, { details: { problem } })
  })
}

export async function allOf<Row extends object>(
  client: Client,
  type: RowType<Row>,
): Promise<Row[]> {
  const { rows } = await run(client, `all-${type.table}`)
  return rows.map((cells) => rowOf(type, cells))
}

export function bytesOf(cell: SqlValue | undefined): Uint8Array {
  return Uint8Array.from(cell as Uint8Array)
}

/** The statement for a filter, by the range that an index has; null if nothing can fit. */
function listOf(filter: JobFilter): { readonly name: string; readonly values: Values } | null {
  const { status, caller, idPrefix, beforeSeq, txHash } = filter
  if (caller !== undefined && !isHex32(caller)) return null
  if (idPrefix !== undefined && !isIdPrefix(idPrefix)) return null
  if (txHash !== undefined && !isHex32(txHash)) return null
  const which = beforeSeq === undefined ? '' : 'newest-'
  const values: Record<string, Param> = {
    ...filterParams(filter),
    caller: caller === undefined ? null : idHex(caller),
    before_seq: beforeSeq ?? null,
  }
  if (filter.ended !== undefined) {
    const { after, before } = filter.ended
    const place = { ended_at: after.at, ended_seq: after.seq, ended_before: before }
    return { name: 'list-jobs-by-end', values: { ...values, ...place } }
  }
  if (idPrefix !== undefined) {
    values['first_id'] = idHex(idPrefix.padEnd(ID_LENGTH, '0'))
    values['last_id'] = idHex(idPrefix.padEnd(ID_LENGTH, 'f'))
    return { name: `list-${which}jobs-by-prefix`, values }
  }
  if (caller !== undefined) {
    return {
      name: `list-${which}${txHash === undefined ? 'jobs-of-caller' : 'jobs-by-key'}`,
      values,
    }
  }
  const isLive = status !== undefined && !hasEnded(status)
  return { name: `list-${which}${isLive ? 'live-jobs' : 'jobs'}`, values }
}

/** Null stands for any. */
function filterParams(filter: JobFilter): Record<string, Param> {
  const { status, providerId, kind, model, afterHeight, afterSeq, limit } = filter
  const { tag, dedupeKey, schedule, txHash, error, since, until } = filter
  const text = (given: ProviderId | string | undefined): Param =>
    given === undefined ? null : escaped(given)
  return {
    status: text(status),
    provider_id: text(providerId),
    kind: text(kind),
    model: text(model),
    after_height: afterHeight === undefined ? null : afterHeight.toString(),
    tag: text(tag),
    dedupe_key: text(dedupeKey),
    schedule: text(schedule),
    tx_hash: txHash === undefined ? null : idHex(txHash),
    error: text(error),
    since: since ?? null,
    until: until ?? null,
    after_seq: afterSeq,
    limit: Math.max(0, limit),
  }
}
