import { FairleadError } from '@fairlead/core/errors'

/** For a database in which nobody made the table. */
export function tableMissing(cause: unknown): FairleadError {
  return new FairleadError(
    'InvalidState',
    'there is no table fairlead_outbox; run createOutbox, or put the SQL of `fairlead outbox sql` into a migration',
    {},
    { cause },
  )
}
