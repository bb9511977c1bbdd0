import type { StandardSchema } from '@fairlead/client'
import { FairleadError } from '@fairlead/core'

/** What a schema makes of a value; or `InvalidParams` with all that is wrong, each with its place. */
export async function fitted<Output>(
  schema: StandardSchema<unknown, Output>,
  root: string,
  value: unknown,
): Promise<Output> {
  const checked = await schema['~standard'].validate(value)
  if (checked.issues === undefined) return checked.value
  const problems = checked.issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
    return `${[root, ...keys].join('.')}: ${message}`
  })
  throw new FairleadError('InvalidParams', problems.join('; '), { field: root })
}
