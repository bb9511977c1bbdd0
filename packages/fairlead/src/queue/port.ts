import type { Client } from '@fairlead/client'
import type { Clock, LeaseSource } from '@fairlead/core'

/** What a queue stands on: calls and events through a client, and leases for its workers. */
export interface QueuePort {
  readonly client: Client
  readonly leases: LeaseSource
  /** Of workers. */
  readonly clock: Clock
  /** Of workers; as usual if left out. */
  readonly heartbeatMs?: number
  /** Of the next worker of a provider; a random one if left out. */
  readonly workerIdFor?: (provider: string) => string
  /** After all workers have stopped. */
  close(): Promise<void>
}
