/** The part of the Standard Schema interface that is used here; Zod, Valibot and ArkType have it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Checked<Output> | Promise<Checked<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type Checked<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a schema made of a value; or all that is wrong with it, each with its place. */
export async function checked<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Promise<Output> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const problems = result.issues.map(({ message, path = [] }) => {
    const location = path
      .map((part) => String(typeof part === 'object' ? part.key : part))
      .join('.')
    return location === '' ? message : `${location}: ${message}`
  })
  throw new InvalidResult(`the result does not fit its schema: ${problems.join('; ')}`)
}

/** A result that is not what was agreed on. Its code is what a worker reports. */
export class InvalidResult extends Error {
  override readonly name = 'InvalidResult'
  readonly code = 'invalid_result'
}
