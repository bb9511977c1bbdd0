import { type AnyRow, compareAscii } from '@fairlead/core/internal'
import {
  failuresOf,
  keyedRowsInOrder,
  metaByName,
  providersById,
  type StoredRows,
  sharesInOrder,
} from './stored-rows.ts'

/** Every row of every table, in the order of STORE-9. */
export function everyRow(tables: StoredRows): AnyRow[] {
  const jobs = [...tables.jobs.values()].sort((a, b) => compareAscii(a.row.id, b.row.id))
  const leases = jobs.flatMap((job) => [...job.leases.values()])
  const rounds = [...tables.rounds.values()].flatMap((kinds) => [...kinds.values()])
  const settlements = [...tables.settlements.values()].sort((a, b) => a.epochId - b.epochId)
  const lists: Readonly<Record<string, readonly object[]>> = {
    jobs: jobs.map(({ row }) => row),
    payloads: jobs.map(({ row, payload }) => ({ jobId: row.id, payload })),
    leases: leases.sort((a, b) => compareAscii(a.id, b.id)),
    providers: providersById(tables),
    results: [...tables.results.values()].sort(
      (a, b) => compareAscii(a.jobId, b.jobId) || a.jobSeq - b.jobSeq,
    ),
    failures: jobs.flatMap(failuresOf),
    shares: sharesInOrder(tables),
    lanes: keyedRowsInOrder(tables),
    rounds: rounds.sort((a, b) => a.height - b.height || compareAscii(a.kind, b.kind)),
    settlements: settlements.map(({ parts: _parts, ...row }) => row),
    settlement_parts: settlements.flatMap(({ epochId, parts }) =>
      parts
        .map((part) => ({ epochId, ...part }))
        .sort((a, b) => compareAscii(a.providerId, b.providerId) || a.part - b.part),
    ),
    journal: tables.journal,
    meta: metaByName(tables).map(([name, value]) => ({ name, value })),
  }
  return Object.entries(lists).flatMap(([table, rows]) =>
    rows.map((row): AnyRow => [table, { ...row }]),
  )
}
