import type {
  FairleadError,
  LeaseListener,
  LeaseOffer,
  LeaseSession,
  LeaseSource,
} from '@fairlead/core'
import type { Identity } from '../auth/identity.ts'
import { isHeldTo, requireTouchable } from '../auth/scope.ts'
import { work } from '../rpc/require-scope.ts'

/**
 * Leases within the scope of a token (SCOPE-3). A provider whose offer is out of the scope is refused when it
 * connects; this is for one whose offer an operator widens later. The first lease out of scope ends the session
 * before anything of the lease is told, and the engine gives the lease to somebody else.
 */
export function scopedSource(source: LeaseSource, identity: Identity): LeaseSource {
  const isHeld = (['kinds', 'models', 'platforms'] as const).some((list) =>
    isHeldTo(identity, list),
  )
  if (!isHeld) return source
  return {
    open: async (hello, listener) => {
      const scoped = new ScopedListener(listener, identity)
      const session = await source.open(hello, scoped)
      await scoped.guard(session)
      return session
    },
  }
}

class ScopedListener implements LeaseListener {
  readonly #inner: LeaseListener
  readonly #identity: Identity
  #session: LeaseSession | null = null
  #refusal: FairleadError | null = null

  constructor(inner: LeaseListener, identity: Identity) {
    this.#inner = inner
    this.#identity = identity
  }

  /** From now on a lease out of scope ends this session; one that came before it was open does so at once. */
  async guard(session: LeaseSession): Promise<void> {
    this.#session = session
    if (this.#refusal === null) return
    await session.close()
    throw this.#refusal
  }

  offer(offer: LeaseOffer): void {
    if (this.#refusal !== null) return
    const { kind, model } = offer
    try {
      for (const touched of work(kind, model)) requireTouchable(this.#identity, touched)
    } catch (error) {
      return this.#end(error as FairleadError)
    }
    this.#inner.offer(offer)
  }

  held(leases: Parameters<LeaseListener['held']>[0]): void {
    this.#inner.held(leases)
  }

  lost(...lost: Parameters<LeaseListener['lost']>): void {
    this.#inner.lost(...lost)
  }

  notice(notice: Parameters<NonNullable<LeaseListener['notice']>>[0]): void {
    this.#inner.notice?.(notice)
  }

  closed(reason: FairleadError): void {
    if (this.#refusal === null) this.#inner.closed(reason)
  }

  #end(refusal: FairleadError): void {
    this.#refusal = refusal
    const session = this.#session
    if (session === null) return
    this.#inner.closed(refusal)
    // A store that refuses it now has the worker as gone at the next start.
    session.close().catch(() => undefined)
  }
}
