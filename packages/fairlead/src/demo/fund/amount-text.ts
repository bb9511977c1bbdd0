/** An amount as JSON has it: beyond 2^53 − 1 it is text. */
export function amountText(amount: bigint): number | string {
  return Number.isSafeInteger(Number(amount)) ? Number(amount) : String(amount)
}
