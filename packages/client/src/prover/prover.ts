import {
  type Clock,
  FairleadError,
  type LeaseSource,
  publicKeyOf,
  type WorkerHello,
} from '@fairlead/core'
import type { AttestationRecord, ResultOf } from '@fairlead/protocol'
import type { Client } from '../client.ts'
import { hexOf } from '../wire/hex.ts'
import type { Job } from '../worker/attempt.ts'
import { type AttestationOptions, Attester, hashInForce } from './attester.ts'
import { isProvable, type ProvedWork, proofOf } from './proof-of.ts'
import { proverKey } from './provider-key.ts'

/** How a worker proves its work. */
export interface ProverOptions {
  /** A file of `fairlead keys new`; left out, the variable FAIRLEAD_PROVIDER_KEY has its line. */
  readonly keyFile?: string
  /** Left out, the provider is not attested by this worker. */
  readonly attestation?: AttestationOptions
  /** For how long a proof without an answer is sent again; that of the default policy if left out. */
  readonly timeoutMs?: number
}

/** The part of a worker that proves its work. */
export interface Proving {
  /** The source, which is opened once its provider has the key and the attestation. */
  readonly source: LeaseSource
  /** Proves a completed lease. It tells of a refusal by itself, and never rejects. */
  prove(work: ProvedWork, job: Job): void
  /** Resolves when no proof is under way. */
  idle(): Promise<void>
  close(): void
}

interface Parts {
  readonly client: Client
  readonly source: LeaseSource
  readonly providerId: string
  readonly clock: Clock
  readonly options: ProverOptions
  readonly onError: (error: unknown, job: Job | null) => void
}

const TIMEOUT_MS = 600_000

type Facts = ResultOf<'aicf.getProvider'>

/**
 * Builds, signs and submits a proof for each completed lease (PROVE-1). The secret seed stays in here: it is in no
 * message, no error and no property that a logger would print.
 */
export class Prover implements Proving {
  readonly source: LeaseSource
  readonly #parts: Parts
  readonly #secretKey: Uint8Array
  readonly #publicKey: string
  readonly #attester: Attester | null
  readonly #closing = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  #chainId = 1n
  #attestation: AttestationRecord | null = null

  constructor(parts: Parts) {
    const { client, providerId, clock, options, source } = parts
    this.#parts = parts
    this.#secretKey = proverKey(options.keyFile)
    this.#publicKey = hexOf(publicKeyOf(this.#secretKey))
    this.#attester =
      options.attestation === undefined
        ? null
        : new Attester({
            client,
            providerId,
            clock,
            secretKey: this.#secretKey,
            options: options.attestation,
            onError: (error) => parts.onError(error, null),
            onAttested: (attestation) => {
              this.#attestation = attestation
            },
          })
    this.source = {
      open: async (hello, listener) => {
        await this.#prepare(hello)
        return source.open(hello, listener)
      },
    }
  }

  prove(work: ProvedWork, job: Job): void {
    if (!isProvable(work.kind)) return
    const proving = this.#submit(work)
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted) this.#parts.onError(error, job)
      })
      .finally(() => this.#underWay.delete(proving))
    this.#underWay.add(proving)
  }

  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  close(): void {
    this.#attester?.close()
    this.#closing.abort(new FairleadError('SchedulerClosed', 'the worker has stopped'))
  }

  /** The provider has to have this key before its first lease: the proof of a lease needs it. */
  async #prepare(hello: WorkerHello): Promise<void> {
    const { provider } = await this.#look(hello)
    const { provider_id: id, public_key: key, attestation } = provider
    if (key !== this.#publicKey) {
      const has = key === null ? 'no public key' : `the public key ${key}`
      throw new FairleadError(
        'InvalidState',
        `${id} has ${has}, and this worker proves with ${this.#publicKey}; use its key file, or let an operator set the key: fairlead providers set-key ${id} ${this.#publicKey}`,
        { providerId: id },
      )
    }
    await this.#attester?.keep(attestation)
  }

  async #look(hello: WorkerHello | null): Promise<Facts> {
    const { client, providerId } = this.#parts
    const asked = { provider_id: providerId }
    const facts = await client.call('aicf.getProvider', asked).catch(async (error: unknown) => {
      if (hello === null || !hasCode(error, 'NotFound')) throw error
      await this.#register(hello)
      return client.call('aicf.getProvider', asked)
    })
    this.#chainId = BigInt(facts.chain_id)
    this.#attestation = facts.provider.attestation
    return facts
  }

  async #register({ offer }: WorkerHello): Promise<void> {
    const { client, providerId } = this.#parts
    try {
      await client.call('aicf.registerProvider', {
        provider_id: providerId,
        public_key: this.#publicKey,
        ...(offer === undefined
          ? {}
          : {
              kinds: [...offer.kinds],
              models: [...offer.models],
              platforms: [...(offer.platforms ?? [])],
            }),
      })
    } catch (error) {
      // Another worker of the provider was first.
      if (!hasCode(error, 'InvalidState')) throw error
    }
  }

  /** Sends a proof until there is an answer. Terms that have changed meanwhile are read again, once. */
  async #submit(work: ProvedWork): Promise<void> {
    try {
      await this.#send(work)
    } catch (error) {
      if (!mayBeStale(error)) throw error
      await this.#look(null)
      await this.#send(work)
    }
  }

  async #send(work: ProvedWork): Promise<void> {
    const { client, providerId, clock, options } = this.#parts
    const envelope = proofOf(work, {
      providerId,
      secretKey: this.#secretKey,
      chainId: this.#chainId,
      attestationHash: hashInForce(this.#attestation, clock.now()),
    })
    try {
      await client.call(
        'aicf.submitProof',
        { envelope: hexOf(envelope) },
        { timeoutMs: options.timeoutMs ?? TIMEOUT_MS, signal: this.#closing.signal },
      )
    } catch (error) {
      // The claim is there: the answer to a first try was lost.
      if (!hasCode(error, 'NullifierReused')) throw error
    }
  }
}

function mayBeStale(error: unknown): boolean {
  if (!(error instanceof FairleadError)) return false
  const { code, details } = error
  if (code === 'ClaimMismatch') return details['field'] === 'chain_id'
  return code === 'AttestationError' && details['reason'] === 'attestation'
}

function hasCode(error: unknown, code: FairleadError['code']): boolean {
  return error instanceof FairleadError && error.code === code
}
