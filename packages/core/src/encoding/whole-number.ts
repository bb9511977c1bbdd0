import { invalidParams } from '../errors.ts'

/** The number as given, or `InvalidParams` naming the field. */
export function wholeNumber(
  field: string,
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) {
    return value as number
  }
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw invalidParams(field, `a whole number ${bounds}`)
}
