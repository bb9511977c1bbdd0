/** The codec as the rest of core uses it; `cbor-value.ts` explains the format. */
export { decodeCbor } from './cbor-decode.ts'
export { appendCborMap, encodeCbor, encodeCborMap } from './cbor-encode.ts'
export { CBOR_DEPTH_MAX, CborFloat, CborHex, type CborMap, type CborValue } from './cbor-value.ts'
