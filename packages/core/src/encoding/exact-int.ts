/**
 * A whole number of any size: a number if that is exact, else a bigint. JavaScript compares the two exactly with
 * `<`. A value has only one form, so `===` is correct too.
 */
export type ExactInt = number | bigint

export function plus(a: ExactInt, b: ExactInt): ExactInt {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  return exactInt(BigInt(a) + BigInt(b))
}

export function minus(a: ExactInt, b: ExactInt): ExactInt {
  return plus(a, -b)
}

export function times(a: ExactInt, b: ExactInt): ExactInt {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    // Adding 0 turns −0, the product of −1 and 0, into the one form of zero.
    if (Number.isSafeInteger(product)) return product + 0
  }
  return exactInt(BigInt(a) * BigInt(b))
}

/** `floor(a / b)` for `a ≥ 0` and `b > 0`. */
export function floorDiv(a: ExactInt, b: ExactInt): ExactInt {
  if (typeof a === 'number' && typeof b === 'number') return (a - (a % b)) / b
  return exactInt(BigInt(a) / BigInt(b))
}

/** `ceil(a / b)` for `a ≥ 0` and `b > 0`. */
export function ceilDiv(a: ExactInt, b: ExactInt): ExactInt {
  return floorDiv(plus(a, minus(b, 1)), b)
}

export function least(a: ExactInt, b: ExactInt): ExactInt {
  return a <= b ? a : b
}

export function exactInt(value: bigint): ExactInt {
  const isSafe = value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER
  return isSafe ? Number(value) : value
}
