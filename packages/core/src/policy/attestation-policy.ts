import { isHex32 } from '../encoding/bytes.ts'
import { isPlainObject } from '../encoding/plain-object.ts'
import { isKindName, KIND_NAMES, type KindName } from '../enqueue/kinds.ts'
import type { Field } from './policy-field.ts'

/** A class of hardware: the kinds of work that it vouches for, and the roots of its makers (ATTEST-1). */
export interface AttestationClass {
  readonly kinds: readonly KindName[]
  /** SHA-256 fingerprints of DER certificates, as 0x hex. */
  readonly roots: readonly string[]
}

export type AttestationClasses = Readonly<Record<string, AttestationClass>>

const LIST_MAX = 10_000

export function attestationClasses(purpose: string): Field<AttestationClasses> {
  return {
    default: {},
    expected: 'an object of classes {kinds, roots}',
    purpose,
    read: (written) => {
      if (!isPlainObject(written) || classProblems(written).length > 0) return undefined
      return Object.fromEntries(
        Object.entries(written as AttestationClasses).map(([name, { kinds, roots }]) => [
          name,
          { kinds: [...kinds], roots: [...roots] },
        ]),
      )
    },
    problems: (written) => (isPlainObject(written) ? classProblems(written) : []),
    show: (classes) => classes,
  }
}

/** A list of SHA-256 fingerprints of certificates. */
export function fingerprints(purpose: string): Field<readonly string[]> {
  return {
    default: [],
    expected: `a list of at most ${LIST_MAX} SHA-256 fingerprints as 0x hex`,
    purpose,
    read: (written) => (isFingerprints(written) ? [...written] : undefined),
    show: (list) => list,
  }
}

/** The class of this name; null if the policy has none. Names are free text, so one may be `constructor`. */
export function classNamed(classes: AttestationClasses, name: string): AttestationClass | null {
  return Object.hasOwn(classes, name) ? (classes[name] as AttestationClass) : null
}

function classProblems(written: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(written).flatMap(([name, given]) => {
    const problems: string[] = []
    if (name === '' || name.length > 128 || !name.isWellFormed()) {
      problems.push(': expected names of 1 to 128 characters')
    }
    const { kinds, roots, ...others } = isPlainObject(given) ? given : {}
    if (!Array.isArray(kinds) || !kinds.every(isKindName)) {
      problems.push(`.${name}.kinds: expected a list of ${KIND_NAMES.join(', ')}`)
    }
    if (!isFingerprints(roots)) {
      problems.push(`.${name}.roots: expected a list of SHA-256 fingerprints as 0x hex`)
    }
    for (const label of Object.keys(others)) {
      problems.push(`.${name}.${label}: there is no such setting; expected kinds, roots`)
    }
    return problems
  })
}

function isFingerprints(written: unknown): written is readonly string[] {
  return Array.isArray(written) && written.length <= LIST_MAX && written.every(isHex32)
}
