import { hexOf } from '../text/bytes.ts'

const BYTES = 12

/** Under which an operation of this page can be asked again. */
export function newOperationId(): string {
  return `page-${hexOf(crypto.getRandomValues(new Uint8Array(BYTES))).slice(2)}`
}
