import type { FairleadError, LeaseListener, ProviderNotice, WorkerHello } from '@fairlead/core'
import type { NotificationName, NotificationOf } from '@fairlead/protocol'
import { LeaseInbox } from './lease-messages.ts'

interface Parts {
  readonly hello: WorkerHello
  /** There is something to send; `flush` is called when that can be done. */
  readonly isReady: () => void
  readonly notify: <Name extends NotificationName>(name: Name, params: NotificationOf<Name>) => void
  /** The engine has ended the session. */
  readonly over: () => void
}

/** Pushes the leases of one worker over its socket (WS-3). */
export class WorkerPush {
  readonly listener: LeaseListener
  readonly #parts: Parts
  readonly #inbox: LeaseInbox
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#inbox = new LeaseInbox(
      () => {
        if (!this.#isClosed) parts.isReady()
      },
      (reason) => this.#end(reason),
    )
    this.listener = this.#inbox
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** For the answer to the worker's hello, which comes before anything else. */
  takeNotice(): ProviderNotice | null {
    return this.#inbox.takeNotice()
  }

  /** Says nothing any more. */
  close(): void {
    this.#isClosed = true
  }

  flush(): boolean {
    if (this.#isClosed || this.#inbox.isEmpty) return false
    const { notify } = this.#parts
    const { held, offered, lost, notice } = this.#inbox.take()
    if (held !== null) notify('leases.held', { ...this.#worker, leases: held })
    if (offered.length > 0) notify('leases.offered', { ...this.#worker, leases: [...offered] })
    if (lost.length > 0) notify('leases.lost', { ...this.#worker, leases: [...lost] })
    if (notice !== undefined) notify('leases.notice', { ...this.#worker, notice })
    return !this.#inbox.isEmpty
  }

  #end({ code, message, details, retryable }: FairleadError): void {
    if (this.#isClosed) return
    this.flush()
    this.#isClosed = true
    const error = { code, message, details: { ...details }, retryable }
    this.#parts.notify('leases.closed', { ...this.#worker, error })
    this.#parts.over()
  }

  get #worker() {
    const { providerId, workerId } = this.#parts.hello
    return { provider_id: providerId, worker_id: workerId }
  }
}
