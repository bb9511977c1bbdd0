import { KIND_NAMES, type KindName } from '@fairlead/core'

/** The stored names of counters and settings: all state beside the rows that influences decisions. */
export const META = {
  /** Number of the last job that was accepted. */
  enqueueSeq: 'enqueue_seq',
  /** Rounds that assigned something. */
  roundHeight: 'round_height',
  /** Number of the last lease id that a limit was reserved with. */
  limitSeq: 'limit_seq',
  /** The latest time from which a limit began to count afresh, a millisecond after its command (LIMIT-20). */
  limitsFrom: 'limits_from',
  /** Covers every decision until now (COMMAND-5). */
  digest: 'digest',
  /** 32 random bytes, drawn once, from which every beacon is derived. */
  installationSeed: 'installation_seed',
  /** The policy in force, as written. */
  policy: 'policy',
  preset: 'preset',
  /** Number and hash of the last entry that was cut off the journal. */
  journalCut: 'journal_cut',
  /** Personal data of registrations that ended before this time has been erased. */
  erasedBefore: 'erased_before',
  /** Random; new with each restored backup, so that lease ids never repeat with another meaning. */
  incarnation: 'incarnation',
  /** The version that wrote the log after the tables. */
  version: 'version',
  /** Set once there was a token (TOKEN-1). */
  tokensSeen: 'tokens_seen',
  /** When something last changed, heartbeats included. */
  beat: 'beat',
} as const

/** The counters of each queue: its grants, and the virtual time of its shares. */
export const QUEUE_KEYS = Object.fromEntries(
  KIND_NAMES.map((kind) => [kind, { grants: `grants.${kind}`, virtual: `virtual.${kind}` }]),
) as Readonly<Record<KindName, { readonly grants: string; readonly virtual: string }>>
