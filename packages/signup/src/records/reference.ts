import { fromHex, type JobId, taggedHash } from '@fairlead/core'
import { invariant } from '@fairlead/core/internal'

/** Without what sounds or looks like something else: 0 O, 1 I L, U V. */
const LETTERS = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 6
const WRITTEN = new RegExp(`^[${LETTERS}]{${LENGTH}}$`)
/** Six letters name 729 million jobs; nobody looks for a free one this long unless nearly all are taken. */
const TRIES_MAX = 1_000

/** A short name of a job that people can say aloud (RECEIPT-2): `SCH-7F3K2Q`. */
export function referenceOf(jobId: JobId, n = 0): string {
  const bytes = fromHex(jobId)
  invariant(bytes !== null, 'an id is 0x and lower-case hex')
  let rest = Buffer.from(taggedHash('AICF|reference', bytes, n)).readBigUInt64BE(0)
  let letters = ''
  for (let i = 0; i < LENGTH; i++) {
    letters = LETTERS[Number(rest % 30n)] + letters
    rest /= 30n
  }
  return `SCH-${letters}`
}

/** The first reference of the job that nobody else has. */
export function freeReference(jobId: JobId, isTaken: (reference: string) => boolean): string {
  for (let n = 0; n < TRIES_MAX; n++) {
    const reference = referenceOf(jobId, n)
    if (!isTaken(reference)) return reference
  }
  throw new RangeError('all references that were tried are taken')
}

/** A reference as somebody wrote or said it, in its one form; null if it can be none. */
export function readReference(written: string): string | null {
  const bare = written.toUpperCase().replaceAll(/[\s-]/g, '')
  const letters = bare.startsWith('SCH') && bare.length > LENGTH ? bare.slice(3) : bare
  return WRITTEN.test(letters) ? `SCH-${letters}` : null
}
