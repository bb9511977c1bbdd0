const GROUPS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** With groups of three digits. Text is a whole number past what JSON holds exactly, and stays exact. */
export function countText(value: number | string | bigint): string {
  if (typeof value === 'number') return GROUPS.format(value)
  return GROUPS.format(BigInt(value))
}

/** A rate: three digits that count, `1,234`, `12.3`, `0.5`. */
export function rateText(value: number): string {
  if (value === 0) return '0'
  if (value >= 100) return GROUPS.format(value)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2).replace(/0$/, '')
}

/** Parts of a million as percent. */
export function ppmText(ppm: number): string {
  const percent = ppm / 10_000
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** A size in bytes, in units of 1,000. */
export function bytesText(bytes: number): string {
  const sign = bytes < 0 ? '−' : ''
  let size = Math.abs(bytes)
  let unit = 0
  while (size >= 999.5 && unit < SIZES.length - 1) {
    size /= 1_000
    unit++
  }
  const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2
  return `${sign}${size.toFixed(digits)} ${SIZES[unit]}`
}

/** `1 job`, `2 jobs`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`
}

/** Share of a whole from 0 to 1. Amounts may be text past what JSON holds exactly. */
export function shareOf(part: number | string, whole: number | string): number {
  const total = Number(whole)
  return total <= 0 ? 0 : Math.min(1, Math.max(0, Number(part) / total))
}
