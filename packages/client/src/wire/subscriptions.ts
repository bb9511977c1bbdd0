import type { LineSocket } from './line.ts'
import type { Notice, Subscription } from './subscription.ts'

/** The subscriptions of one client: each new socket takes them all up again. */
export class Subscriptions {
  readonly #all = new Set<Subscription>()
  #socket: LineSocket | null = null

  add(subscription: Subscription): void {
    this.#all.add(subscription)
    if (this.#socket !== null) void subscription.attach(this.#socket)
  }

  remove(subscription: Subscription): void {
    this.#all.delete(subscription)
  }

  opened(socket: LineSocket): void {
    this.#socket = socket
    void socket.closed.then(() => {
      if (this.#socket === socket) this.#socket = null
    })
    for (const subscription of this.#all) void subscription.attach(socket)
  }

  take(notice: Notice): void {
    for (const subscription of this.#all) subscription.hear(notice)
  }

  /** There will be no socket any more. */
  failAll(error: unknown): void {
    for (const subscription of [...this.#all]) subscription.fail(error)
  }
}
