import { KIND_NAMES, type KindName } from '@fairlead/core'

/** The names under which counters and settings are stored: all that decides beside the rows. */
export const META = {
  /** Number of the last job that was accepted. */
  enqueueSeq: 'enqueue_seq',
  /** Rounds that assigned something. */
  roundHeight: 'round_height',
  /** Number of the last lease id that a limit was reserved with. */
  limitSeq: 'limit_seq',
  /** The time from which a limit began anew last, a millisecond after its command (LIMIT-20). */
  limitsFrom: 'limits_from',
  /** Over all that was decided until now (COMMAND-5). */
  digest: 'digest',
  /** 32 bytes that every beacon comes from, drawn once. */
  installationSeed: 'installation_seed',
  /** The policy in force, as written. */
  policy: 'policy',
  preset: 'preset',
  /** Number and hash of the last entry that was cut off the journal. */
  journalCut: 'journal_cut',
  /** What registrations said of people is erased of all that ended before this. */
  erasedBefore: 'erased_before',
  /** There were tokens once (TOKEN-1). */
  tokensSeen: 'tokens_seen',
  /** When something changed last, a sign of life included. */
  beat: 'beat',
} as const

/** The counters of each queue: its grants, and the virtual time of its shares. */
export const QUEUE_KEYS = Object.fromEntries(
  KIND_NAMES.map((kind) => [kind, { grants: `grants.${kind}`, virtual: `virtual.${kind}` }]),
) as Readonly<Record<KindName, { readonly grants: string; readonly virtual: string }>>
