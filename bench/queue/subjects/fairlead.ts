import { join } from 'node:path'
import { type Job, worker } from '@fairlead/client'
import { callerOf, type LeaseSource, type Store } from '@fairlead/core'
import { type Engine, openEngine, type Requester } from '@fairlead/engine'
import { openPostgresStore } from '@fairlead/store/postgres'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { numberOf, payloadNumber } from '../payload.ts'
import type { Place, Subject, Work, WrittenPolicy } from '../subject.ts'

/** Workers with a provider each, as a small fleet has them. */
const PROVIDERS = 4
/** Leases of one worker at once: enough that none waits for the store, and few enough to stay young on the heap. */
const SLOTS = 400

/** Fairlead in this process, on SQLite or PostgreSQL: the engine, and workers over its lease source. */
export async function openFairlead(
  place: Place,
  { store: kind, policy }: { store: StoreKind; policy: WrittenPolicy },
): Promise<Subject> {
  const store = await openStore(place, kind)
  const engine = await openEngine({
    store,
    policy: {
      ...policy,
      queue: {
        // A million wait in one scenario, beside those of its warm-up.
        max_depth: 2_000_000,
        ...policy.queue,
        // Otherwise the policy, and not the engine, would be measured.
        quotas: { leases_max_per_provider: 100_000, ...policy.queue?.quotas },
      },
    },
  })
  const requesters = new Map<string, Requester>()
  // Found once, as a server finds whom a token stands for.
  const requesterOf = (tenant: string): Requester => {
    const known = requesters.get(tenant) ?? { caller: callerOf(tenant) }
    requesters.set(tenant, known)
    return known
  }
  return {
    enqueue: (n, tenant = 'bench') => engine.enqueue(requestNumber(n), requesterOf(tenant)),
    enqueueKeyed: (n) =>
      engine.enqueue({ ...requestNumber(n), idempotency_key: `key-${n}` }, requesterOf('bench')),
    async enqueueBatch(first, count, tenant = 'bench') {
      const requests = Array.from({ length: count }, (_, i) => requestNumber(first + i))
      const answers = await engine.enqueueMany(requests, requesterOf(tenant))
      for (const answer of answers) if (answer.status === 'rejected') throw answer.reason
    },
    // A backlog at rest: it is in the tables, and the log is empty.
    afterLoad: () => engine.checkpoint(),
    work: (work) => startWorkers(engine, work),
    close: () => engine.close(),
  }
}

type StoreKind = 'sqlite' | 'sqlite-relaxed' | 'postgres'

function openStore({ folder, url }: Place, kind: StoreKind): Promise<Store> {
  if (kind === 'postgres') return openPostgresStore({ url })
  const durability = kind === 'sqlite' ? 'full' : 'relaxed'
  return openSqliteStore(join(folder, 'fairlead.db'), { durability })
}

function requestNumber(n: number): Readonly<Record<string, unknown>> {
  const { model, prompt, max_tokens } = payloadNumber(n)
  return { kind: 'ai', payload: { model, prompt: Buffer.from(prompt), max_tokens } }
}

async function startWorkers(engine: Engine, work: Work): Promise<() => Promise<unknown>> {
  const { started } = work
  const source = counted(engine.leaseSource(), work.completed)
  const providers = work.slots === undefined ? PROVIDERS : 1
  work.asking()
  const workers = Array.from({ length: providers }, (_, i) =>
    worker({
      source,
      providerId: `provider:bench-${i}`,
      kinds: ['ai'],
      concurrency: work.slots ?? SLOTS,
      handler: started === undefined ? () => {} : (job) => started(() => jobNumber(job)),
      onError: (error) => {
        throw error
      },
    }),
  )
  return () => Promise.all(workers.map((one) => one.stop()))
}

function jobNumber(job: Job<'ai'>): number {
  return numberOf(Buffer.from(job.payload.prompt).toString())
}

/** Tells of each completion when its answer is there, and so when it is durable. */
function counted(source: LeaseSource, completed: (count: number) => void): LeaseSource {
  return {
    async open(hello, listener) {
      const session = await source.open(hello, listener)
      const complete = session.complete.bind(session)
      session.complete = (leaseId, result) => complete(leaseId, result).then(() => completed(1))
      return session
    },
  }
}
