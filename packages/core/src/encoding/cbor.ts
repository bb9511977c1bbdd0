/** The codec as the rest of core knows it; see `cbor-value.ts` for what it stands for. */
export { decodeCbor } from './cbor-decode.ts'
export { appendCborMap, encodeCbor, encodeCborMap } from './cbor-encode.ts'
export { CBOR_DEPTH_MAX, CborFloat, type CborMap, type CborValue } from './cbor-value.ts'
