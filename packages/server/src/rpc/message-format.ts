import { isUtf8 } from 'node:buffer'
import { CborFloat, type CborMap, type CborValue, decodeCbor, encodeCbor } from '@fairlead/core'
import type { EngineEvent } from '@fairlead/engine'
import {
  METHODS,
  type MethodName,
  NOTIFICATIONS,
  type NotificationName,
  type RpcErrorObject,
  type RpcId,
  type WireCodec,
  wireCodec,
} from '@fairlead/protocol'

/** An event on its way to any number of subscribers. */
export interface EventEntry {
  readonly event: EngineEvent
  /** Its JSON, once somebody needed it. */
  text: string | null
}

/** What becomes of a call. */
export interface Answer {
  readonly id: RpcId
  /** Of a call that got as far as its method. */
  readonly method: MethodName | null
  readonly result?: unknown
  readonly error?: RpcErrorObject
}

/** A message, or a part of a batch, as it is sent. */
export type Piece = string | Uint8Array

/** JSON or CBOR: how messages are read and written (RPC-6). */
export interface MessageFormat {
  readonly contentType: string
  /** The message of some bytes; throws if they are none. */
  read(data: Uint8Array): unknown
  /** Params as the schema of their method describes them. */
  params(method: MethodName, params: unknown): unknown
  answer(answer: Answer): Piece
  notification(name: NotificationName, params: unknown): Piece
  /** The same for events, whose text is made once for all who hear of them. */
  events(subscriptionId: string, entries: readonly EventEntry[]): Piece
  /** One message, or several as a batch. */
  write(pieces: readonly Piece[], isBatch: boolean): string | Uint8Array
}

export const JSON_FORMAT: MessageFormat = {
  contentType: 'application/json',
  read(data) {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    if (!isUtf8(bytes)) throw new SyntaxError('it is not UTF-8')
    return JSON.parse(bytes.toString('utf8')) as unknown
  },
  params: (_, params) => params,
  answer({ id, result, error }) {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`
    if (error === undefined) return `${head}"result":${JSON.stringify(result)}}`
    return `${head}"error":${JSON.stringify(error, showBig)}}`
  },
  notification: (name, params) =>
    `{"jsonrpc":"2.0","method":"${name}","params":${JSON.stringify(params)}}`,
  events(subscriptionId, entries) {
    const texts = entries.map((entry) => {
      entry.text ??= JSON.stringify(entry.event)
      return entry.text
    })
    const params = `{"subscription_id":"${subscriptionId}","events":[${texts.join(',')}]}`
    return `{"jsonrpc":"2.0","method":"events.notify","params":${params}}`
  },
  write: (pieces, isBatch) => {
    const texts = pieces as readonly string[]
    return isBatch ? `[${texts.join(',')}]` : (texts[0] as string)
  },
}

export const CBOR_FORMAT: MessageFormat = {
  contentType: 'application/cbor',
  read: (data) => plainIds(decodeCbor(data)),
  params: (method, params) => {
    const codec = codecsOf(method).params
    return Array.isArray(params)
      ? params.map((item) => codec.fromCbor(item as CborValue))
      : codec.fromCbor(params as CborValue)
  },
  answer({ id, method, result, error }) {
    if (error !== undefined) return encodeCbor({ jsonrpc: '2.0', id, error: plain(error) })
    const shown = method === null ? (result as CborValue) : codecsOf(method).result.toCbor(result)
    return encodeCbor({ jsonrpc: '2.0', id, result: shown })
  },
  notification: (name, params) =>
    encodeCbor({ jsonrpc: '2.0', method: name, params: notificationCodec(name).toCbor(params) }),
  events: (subscriptionId, entries) =>
    CBOR_FORMAT.notification('events.notify', {
      subscription_id: subscriptionId,
      events: entries.map(({ event }) => event),
    }),
  write: (pieces, isBatch) => {
    const parts = pieces as readonly Uint8Array[]
    if (!isBatch) return parts[0] as Uint8Array
    return Buffer.concat([arrayHead(parts.length), ...parts])
  },
}

/** How CBOR begins a list of so many items. */
function arrayHead(count: number): Uint8Array {
  if (count < 24) return Uint8Array.of(0x80 | count)
  if (count < 0x1_00) return Uint8Array.of(0x98, count)
  if (count < 0x1_00_00) return Uint8Array.of(0x99, count >> 8, count & 0xff)
  const head = Buffer.of(0x9a, 0, 0, 0, 0)
  head.writeUInt32BE(count, 1)
  return head
}

interface Codecs {
  readonly params: WireCodec
  readonly result: WireCodec
}

const codecs = new Map<MethodName, Codecs>()
const notificationCodecs = new Map<NotificationName, WireCodec>()

/** Made when the first caller speaks CBOR: most servers never meet one. */
function codecsOf(method: MethodName): Codecs {
  let found = codecs.get(method)
  if (found === undefined) {
    const { params, result } = METHODS[method]
    found = { params: wireCodec(params), result: wireCodec(result) }
    codecs.set(method, found)
  }
  return found
}

function notificationCodec(name: NotificationName): WireCodec {
  let found = notificationCodecs.get(name)
  if (found === undefined) {
    found = wireCodec(NOTIFICATIONS[name].params)
    notificationCodecs.set(name, found)
  }
  return found
}

/** A message is read by the same rules in both formats, so its ids are plain numbers. */
function plainIds(message: CborValue): unknown {
  if (Array.isArray(message)) return message.map((item) => plainIds(item as CborValue))
  if (typeof message !== 'object' || message === null || message instanceof Uint8Array)
    return message
  const map = message as CborMap
  const { id } = map
  return id instanceof CborFloat ? { ...map, id: id.value } : map
}

/** Details of an error are what JSON can hold. */
function plain(value: unknown): CborValue {
  return JSON.parse(JSON.stringify(value, showBig)) as CborValue
}

function showBig(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
