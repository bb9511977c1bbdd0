/** Jobs that are enqueued if and only if a transaction of the application commits. */

export type { PostgresClient, PostgresPool, SqliteDatabase } from './clients.ts'
export {
  type CreateOptions,
  createOutbox,
  type OutboxDatabase,
  outboxSql,
} from './create-outbox.ts'
export { enqueueInTransaction, type OutboxReceipt } from './enqueue-in-transaction.ts'
export type { RefusedRow, Relay, RelayCounts, RelayOptions, RequestSink } from './relay.ts'
export type { OutboxOptions } from './row-of.ts'
export { type StartRelayOptions, startRelay } from './start-relay.ts'
