import { validateHeaderName, validateHeaderValue } from 'node:http'
import { invariant } from '@fairlead/core/internal'
import type { WrittenAdapter, WrittenCall } from '../providers/adapter-fields.ts'
import type { Condition, Profile } from '../providers/profile.ts'
import { bookingNumberOf, UNREADABLE } from '../records/booking-number.ts'
import type {
  Adapter,
  BookingAnswer,
  HttpAnswer,
  HttpCall,
  LookupAnswer,
  Refusal,
  SignupJob,
} from './adapter.ts'
import { jsonAt } from './json-path.ts'
import { Secret } from './secret.ts'
import {
  fillJson,
  fillText,
  type JsonTemplate,
  jsonTemplate,
  type Scope,
  type SecretSources,
  secretsIn,
  secretsInText,
  type TextTemplate,
  textTemplate,
  Unfillable,
} from './template.ts'

/** A code that may be shown to anybody: a word, never a sentence with somebody's data in it. */
const CODE = /^[A-Za-z0-9_.-]{1,64}$/
const TEXT_MAX = 128

interface CallTemplate {
  readonly method: string
  readonly url: TextTemplate
  readonly headers: readonly (readonly [string, TextTemplate])[]
  readonly body: JsonTemplate
}

interface Templates {
  readonly book: CallTemplate | null
  readonly hold: CallTemplate | null
  readonly commit: CallTemplate | null
  readonly release: CallTemplate | null
  readonly lookup: CallTemplate | null
  readonly charge: CallTemplate | null
  readonly credentials: ReadonlyMap<string, Secret>
}

/**
 * The generic adapter, driven by configuration: JSON over HTTP (ADAPTER-1). Null where no call that books is
 * configured. Problems go to `sources.problem`, each behind the name of its setting.
 */
export function httpAdapter(
  written: WrittenAdapter,
  profile: Profile,
  sources: SecretSources,
): Adapter | null {
  const templates = templatesOf(written, sources)
  const { book, hold, commit, lookup } = templates
  const isHold = profile.bookingModel === 'hold_then_commit'
  const booking = isHold ? commit : book
  if (isHold && (hold === null) !== (commit === null)) {
    sources.problem('adapter.hold, adapter.commit: expected both, each with a url')
  }
  if (isHold && hold !== null && written.answer.holdId === null) {
    sources.problem('adapter.answer.hold_id: expected the path of the id, for the commit')
  }
  if (lookup !== null && !tellsBookings(written)) {
    sources.problem('adapter.lookup_answer: expected found or booking_number, to tell a booking by')
  }
  if (booking === null) return null
  return new HttpAdapter({ written, profile, templates, booking })
}

function tellsBookings({ answer, lookupAnswer }: WrittenAdapter): boolean {
  return [lookupAnswer.found, lookupAnswer.bookingNumber, answer.bookingNumber].some(Boolean)
}

interface Parts {
  readonly written: WrittenAdapter
  readonly profile: Profile
  readonly templates: Templates
  readonly booking: CallTemplate
}

class HttpAdapter implements Adapter {
  readonly hold?: NonNullable<Adapter['hold']>
  readonly lookup?: NonNullable<Adapter['lookup']>
  readonly charge?: NonNullable<Adapter['charge']>
  readonly #parts: Parts
  readonly #secrets: readonly Secret[]

  constructor(parts: Parts) {
    this.#parts = parts
    const { templates, profile } = parts
    const { hold, release, lookup, charge } = templates
    this.#secrets = allSecrets(templates)
    if (profile.bookingModel === 'hold_then_commit' && hold !== null) {
      this.hold = {
        request: (job) => this.#fill(hold, job, null),
        outcome: (answer) => this.#held(answer),
        ...(release === null
          ? {}
          : { release: (job: SignupJob, holdId: string) => this.#fill(release, job, holdId) }),
      }
    }
    if (lookup !== null) {
      this.lookup = {
        request: (job) => this.#fill(lookup, job, null),
        outcome: (answer) => this.#found(answer),
      }
    }
    if (charge !== null) {
      this.charge = (job, bookingNumber, idempotencyKey) => {
        const call = this.#fill(charge, { ...job, idempotencyKey }, null, bookingNumber)
        return { ...call, headers: { 'idempotency-key': idempotencyKey, ...call.headers } }
      }
    }
  }

  request(job: SignupJob, holdId: string | null): HttpCall {
    const call = this.#fill(this.#parts.booking, job, holdId)
    return withIdempotencyKey(call, job, this.#parts)
  }

  outcome(answer: HttpAnswer): BookingAnswer {
    const { answer: paths } = this.#parts.written
    const { bookingModel, successDefinition } = this.#parts.profile
    const definition = successDefinition === 'unknown' ? {} : successDefinition
    const isOk = definition.http?.includes(answer.status) ?? isSuccess(answer.status)
    const bookingNumber = this.#bookingNumberAt(answer.json, paths.bookingNumber)
    if (isSuccess(answer.status) && holds(paths.waitlisted, answer.json)) {
      return { type: 'waitlisted', bookingNumber }
    }
    if (isOk && (definition.path === undefined || holds(definition as Condition, answer.json))) {
      return { type: bookingModel === 'waitlist_only' ? 'waitlisted' : 'booked', bookingNumber }
    }
    const refusal = this.#refusal(answer)
    // A yes that does not name a seat, and no reason against it: somebody has to look.
    if (isSuccess(answer.status) && refusal.code === undefined) {
      return { type: 'unclear', http: answer.status }
    }
    return refusal
  }

  #held(answer: HttpAnswer): ReturnType<NonNullable<Adapter['hold']>['outcome']> {
    const { answer: paths } = this.#parts.written
    if (isSuccess(answer.status)) {
      if (holds(paths.waitlisted, answer.json)) {
        const bookingNumber = this.#bookingNumberAt(answer.json, paths.bookingNumber)
        return { type: 'waitlisted', bookingNumber }
      }
      const holdId = this.#textAt(answer.json, paths.holdId)
      if (holdId !== null) return { type: 'held', holdId }
    }
    return this.#refusal(answer)
  }

  #found(answer: HttpAnswer): LookupAnswer {
    if (answer.status === 404) return { type: 'not_booked' }
    // Without JSON there is no telling: "not booked" is only believed of an answer that was read.
    if (!isSuccess(answer.status) || answer.json === undefined) return { type: 'failed' }
    const { answer: usual, lookupAnswer } = this.#parts.written
    const path = lookupAnswer.bookingNumber ?? usual.bookingNumber
    const bookingNumber = this.#bookingNumberAt(answer.json, path)
    if (holds(lookupAnswer.waitlisted ?? usual.waitlisted, answer.json)) {
      return { type: 'waitlisted', bookingNumber }
    }
    const isFound =
      lookupAnswer.found === null ? bookingNumber !== null : holds(lookupAnswer.found, answer.json)
    return isFound ? { type: 'booked', bookingNumber } : { type: 'not_booked' }
  }

  #refusal({ status, json }: HttpAnswer): Refusal {
    const { answer, errorCodes } = this.#parts.written
    const given = this.#textAt(json, answer.errorCode)
    const code =
      given !== null && Object.hasOwn(errorCodes, given) ? (errorCodes[given] as string) : given
    const isFit = code !== null && CODE.test(code)
    return { type: 'refused', http: status, ...(isFit ? { code } : {}) }
  }

  /** A text or number of the answer. One that repeats a secret of ours is not let in. */
  #textAt(json: unknown, path: string | null): string | null {
    if (path === null) return null
    const value = jsonAt(json, path)
    if (typeof value !== 'string' && typeof value !== 'number') return null
    const text = String(value)
    return text === '' || text.length > TEXT_MAX || this.#leaks(text) ? null : text
  }

  /** One that cannot be kept still says that there is a booking. */
  #bookingNumberAt(json: unknown, path: string | null): string | null {
    const number = path === null ? null : bookingNumberOf(jsonAt(json, path))
    return number !== null && this.#leaks(number) ? UNREADABLE : number
  }

  #leaks(text: string): boolean {
    return this.#secrets.some((secret) => text.includes(secret.reveal()))
  }

  #fill(
    call: CallTemplate,
    job: SignupJob,
    holdId: string | null,
    bookingNumber: string | null = null,
  ): HttpCall {
    const { credentials } = this.#parts.templates
    const scope: Scope = {
      event_id: job.eventId,
      org_ref: job.orgRef,
      user_id: job.userId,
      job_id: job.jobId,
      scheduled_time: job.scheduledTime,
      idempotency_key: job.idempotencyKey,
      args: job.args,
      credential: credentials.get(job.orgRef) ?? credentials.get('default') ?? null,
      hold_id: holdId,
      booking_number: bookingNumber,
    }
    const body = call.body === null ? undefined : fillJson(call.body, scope)
    const headers = call.headers.map(([name, text]) => inHeader(name, fillText(text, scope)))
    return {
      method: call.method,
      url: inPlace(fillText(call.url, scope, encodeURIComponent)),
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...Object.fromEntries(headers),
      },
      body: body === undefined ? null : JSON.stringify(body),
    }
  }
}

/** What a person told may be anything; a line break or a letter of another alphabet is no part of a header. */
function inHeader(name: string, text: string): readonly [string, string] {
  if (isHeader(() => validateHeaderValue(name, text))) return [name, text]
  throw new Unfillable(`the header ${name} cannot hold what the job has; put it into the body`)
}

function isHeader(validate: () => void): boolean {
  try {
    validate()
    return true
  } catch {
    return false
  }
}

const STEP = /^(?:\.|%2e){1,2}$/i

/** A job must not lead out of the path that the operator wrote: `..` would. */
function inPlace(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  if (!path.split('/').some((segment) => STEP.test(segment))) return url
  throw new Unfillable('a part of the path of the URL would be . or ..; the job needs other names')
}

/** Puts the key where the profile says (ADAPTER-3); the one of a hold is that of its commit. */
function withIdempotencyKey(call: HttpCall, job: SignupJob, { profile, written }: Parts): HttpCall {
  if (profile.idempotencyKeySupported !== true) return call
  const name = written.idempotencyKeyName
  switch (profile.idempotencyKeyLocation) {
    case 'header': {
      const header = (name ?? 'Idempotency-Key').toLowerCase()
      return { ...call, headers: { ...call.headers, [header]: job.idempotencyKey } }
    }
    case 'query': {
      const url = new URL(call.url)
      url.searchParams.set(name ?? 'idempotency_key', job.idempotencyKey)
      return { ...call, url: url.href }
    }
    case 'body': {
      const fields = call.body === null ? {} : (JSON.parse(call.body) as Record<string, unknown>)
      const body = JSON.stringify({ ...fields, [name ?? 'idempotency_key']: job.idempotencyKey })
      return { ...call, headers: { ...call.headers, 'content-type': 'application/json' }, body }
    }
    case 'none':
    case 'unknown':
      invariant(false, 'a profile with idempotency keys says where they stand')
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

function holds(condition: Condition | null, json: unknown): boolean {
  if (condition === null) return false
  const value = jsonAt(json, condition.path)
  if (condition.equals === undefined) return value !== undefined && value !== null
  return condition.equals.includes(value as string | number | boolean)
}

function templatesOf(written: WrittenAdapter, sources: SecretSources): Templates {
  const one = (name: 'book' | 'hold' | 'commit' | 'release' | 'lookup' | 'charge') =>
    callTemplate(written[name], under(sources, `adapter.${name}`))
  const credentials = Object.entries(written.credentials).map(([org, text]) => {
    const from = at(sources, `adapter.credentials.${org}`)
    const template = textTemplate(text, from)
    const [secret, ...rest] = template
    if (!(secret instanceof Secret) || rest.length > 0) {
      from.problem('expected ${env:NAME} or ${file:path} and nothing else')
      return [org, new Secret('')] as const
    }
    return [org, secret] as const
  })
  return {
    book: one('book'),
    hold: one('hold'),
    commit: one('commit'),
    release: one('release'),
    lookup: one('lookup'),
    charge: one('charge'),
    credentials: new Map(credentials),
  }
}

/** The host is the operator's own: no field of a job can send a credential elsewhere. */
const FIXED_HOST = /^https?:\/\/[^/?#{}$@\s]+(?:[/?#]|$)/
/** Those of the connection; we set them ourselves. */
const OUR_HEADERS = ['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade']
const SECRET_HEADER = /^authorization$|^cookie$|key|token|secret/i

function callTemplate(call: WrittenCall, sources: SecretSources): CallTemplate | null {
  if (call.url === null) return null
  if (!FIXED_HOST.test(call.url) || !URL.canParse(call.url)) {
    sources.problem(
      'url: expected http:// or https:// and a host that is written out, without a name or password',
    )
  }
  const headers = Object.entries(call.headers).map(([name, text]) => {
    const from = at(sources, `headers.${name}`)
    if (!isHeader(() => validateHeaderName(name)) || OUR_HEADERS.includes(name.toLowerCase())) {
      from.problem('expected the name of a header that is not of the connection itself')
    }
    if (SECRET_HEADER.test(name) && !/\$\{(?:env|file):|\{credential\}/.test(text)) {
      // The text itself is not repeated: it may be the secret.
      from.problem(
        'expected the secret as ${env:NAME}, ${file:path} or {credential}, not written out',
      )
    }
    return [name.toLowerCase(), textTemplate(text, from)] as const
  })
  return {
    method: call.method,
    url: textTemplate(call.url, at(sources, 'url')),
    headers,
    body: jsonTemplate(call.body, at(sources, 'body')),
  }
}

function under(sources: SecretSources, name: string): SecretSources {
  return { ...sources, problem: (text) => sources.problem(`${name}.${text}`) }
}

function at(sources: SecretSources, name: string): SecretSources {
  return { ...sources, problem: (text) => sources.problem(`${name}: ${text}`) }
}

function allSecrets({ credentials, ...calls }: Templates): Secret[] {
  const inCalls = Object.values(calls).flatMap((call: CallTemplate | null) =>
    call === null
      ? []
      : [
          ...secretsIn(call.body),
          ...[call.url, ...call.headers.map(([, text]) => text)].flatMap(secretsInText),
        ],
  )
  return [...inCalls, ...credentials.values()].filter((secret) => secret.reveal() !== '')
}
