import { connect, steadyClock } from '@fairlead/client'
import type { QueuePort } from './port.ts'

export interface ServerAddress {
  readonly url: string
  /** Not needed on loopback while the server has no tokens. Of the role `admin`, or `requester` for a queue that only adds. */
  readonly token?: string
  /** Of the role `provider`, for the workers; `token` if left out. */
  readonly workerToken?: string
}

/** A queue on a server. Nothing is connected before the first call. */
export function serverPort({ url, token, workerToken = token }: ServerAddress): QueuePort {
  const client = connect(url, { token })
  return {
    client,
    leases: connect(url, { token: workerToken }).leaseSource(),
    clock: steadyClock,
    close: () => client.close(),
  }
}
