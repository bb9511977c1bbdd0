import type { MethodName } from '@fairlead/client'
import { line } from './line.ts'

/** Whether the server would let one make a call. It checks again; this only keeps away what would be refused. */
export function may(...methods: readonly MethodName[]): boolean {
  const allowed = line.who.value?.methods
  return allowed !== undefined && methods.every((method) => allowed.includes(method))
}
