import type { Assignment, ResultOf } from '@fairlead/protocol'
import type { Message, RawSocket } from './raw-socket.ts'
import type { Person, Rig } from './rig.ts'

/** A worker in the hands of a test: it gets its leases over a socket and does what it is told. */
export class Bench {
  readonly socket: RawSocket
  readonly providerId: string
  readonly workerId: string

  private constructor(socket: RawSocket, providerId: string, workerId: string) {
    this.socket = socket
    this.providerId = providerId
    this.workerId = workerId
  }

  static async open(
    rig: Rig,
    options: {
      as?: Person
      workerId?: string
      slots?: number
      holds?: string[]
      /** Serves registrations of these instead of everything else. */
      platforms?: string[]
    } = {},
  ): Promise<Bench> {
    const { as = 'atlas', workerId = 'w-1', slots = 4, holds, platforms } = options
    const socket = await rig.socket(as)
    const bench = new Bench(socket, `provider:${as}`, workerId)
    await socket.call('aicf.pollLeases', {
      provider_id: bench.providerId,
      worker_id: workerId,
      slots,
      ...(platforms === undefined
        ? { kinds: ['ai', 'quantum', 'task'], models: ['*'] }
        : { kinds: ['registration'], platforms }),
      push: true,
      ...(holds === undefined ? {} : { holds }),
    })
    return bench
  }

  /** The lease on a job, once it was pushed. */
  async offered(taskId: string, attempt = 0): Promise<Assignment> {
    const leasesOf = ({ method, params }: Message): Assignment[] =>
      method === 'leases.offered' ? ((params?.['leases'] ?? []) as Assignment[]) : []
    const isIt = (lease: Assignment) => lease.task_id === taskId && lease.attempt === attempt
    const message = await this.socket.find((one) => leasesOf(one).some(isIt))
    return leasesOf(message).find(isIt) as Assignment
  }

  async call(
    method:
      | 'aicf.ackLease'
      | 'aicf.completeLease'
      | 'aicf.failLease'
      | 'aicf.releaseLease'
      | 'aicf.declineLease'
      | 'aicf.renewLease',
    leaseId: string,
    more: Record<string, unknown> = {},
  ): Promise<ResultOf<'aicf.renewLease'>> {
    const params = { lease_id: leaseId, worker_id: this.workerId, ...more }
    return (await this.socket.call(method, params)) as ResultOf<'aicf.renewLease'>
  }
}
