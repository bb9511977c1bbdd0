import { readFileSync } from 'node:fs'
import { misuse } from './flags.ts'

export const STDIN = 0

/** What was given; for `-`, what stands on standard input. */
export function inputOf(text: string): string {
  return text === '-' ? new TextDecoder().decode(readFile(STDIN)) : text
}

export function readFile(file: string | number): Uint8Array {
  try {
    return new Uint8Array(readFileSync(file))
  } catch (error) {
    throw misuse(`cannot read ${file}: ${(error as Error).message}`)
  }
}
