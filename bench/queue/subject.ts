/**
 * What is measured: a queue behind the few calls that the scenarios need. Each subject is one file in
 * `subjects/`, in the fastest configuration that its documentation gives; the settings are explained
 * there.
 */
export interface Subject {
  /** Takes in one job; resolves once the subject calls it accepted. */
  readonly enqueue: (n: number, tenant?: string) => Promise<unknown>
  /** The same under a key of the caller's own, which makes it safe to ask again. */
  readonly enqueueKeyed?: (n: number) => Promise<unknown>
  /** Takes in `count` jobs in one call of the subject's own. */
  readonly enqueueBatch: (first: number, count: number, tenant?: string) => Promise<unknown>
  /** What is to be done after a bulk load, before its jobs are worked on. */
  readonly afterLoad?: () => Promise<unknown>
  /** Starts the workers; gives what stops them. */
  readonly work: (work: Work) => Promise<() => Promise<unknown>>
  /** Memory of the server behind the subject, where it has one that tells. */
  readonly serverBytes?: () => Promise<number>
  readonly close: () => Promise<unknown>
}

export interface Work {
  /** Many jobs wait; or as many come as can be done; or a few, each to be begun at once. */
  readonly load: 'backlog' | 'flow' | 'trickle'
  /** Jobs that run at once, where the scenario sets it; else what is fastest for the subject. */
  readonly slots?: number
  /** The workers are connected and ask for their first job: from here on the time counts. */
  readonly asking: () => void
  /** A handler has begun; the number of its job is read from the payload when the time was taken. Where nobody asks, the handler is empty. */
  readonly started?: (number: () => number) => void
  /** So many more jobs are over, and the subject has taken note of that. */
  readonly completed: (count: number) => void
}

/** What a subject runs on. */
export interface Place {
  /** A folder of its own. */
  readonly folder: string
  /** Where its server listens, if it needs one. */
  readonly url: string
}

/** A part of Fairlead's policy as it is written in a file. */
export interface WrittenPolicy {
  readonly queue?: { readonly max_per_caller?: number; readonly quotas?: object }
  readonly match?: object
}

/** Every subject, in the order of the tables; the first is what the others are compared with. */
export const SUBJECTS = {
  fairlead: { durability: 'SQLite FULL', server: null, isPeer: false },
  'fairlead-relaxed': { durability: 'SQLite NORMAL', server: null, isPeer: false },
  'fairlead-postgres': { durability: 'PostgreSQL fsync', server: 'postgres', isPeer: false },
  bullmq: { durability: 'Redis as it comes', server: 'redis', isPeer: true },
  'bullmq-aof': { durability: 'Redis AOF everysec', server: 'redis-aof', isPeer: true },
  'graphile-worker': { durability: 'PostgreSQL fsync', server: 'postgres', isPeer: true },
  'pg-boss': { durability: 'PostgreSQL fsync', server: 'postgres', isPeer: true },
  plainjob: { durability: 'SQLite NORMAL', server: null, isPeer: true },
} as const

export type SubjectName = keyof typeof SUBJECTS
export type ServerName = NonNullable<(typeof SUBJECTS)[SubjectName]['server']>

export const SUBJECT_NAMES = Object.keys(SUBJECTS) as readonly SubjectName[]
