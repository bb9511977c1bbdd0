/** A whole number in JSON: beyond 2^53 − 1 on either side of 0 it is text. */
export function amountRecord(amount: bigint): number | string {
  const number = Number(amount)
  return Number.isSafeInteger(number) ? number : String(amount)
}
