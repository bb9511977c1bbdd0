/** 0x and 8 to 64 hex digits in lower case. Shorter ones fit too many jobs to be looked up. */
const ID_PREFIX = /^0x[0-9a-f]{8,64}$/

/** Whether a text can be the first digits of an id; under any other text there is no job (STORE-8). */
export function isIdPrefix(text: unknown): text is string {
  return typeof text === 'string' && ID_PREFIX.test(text)
}
