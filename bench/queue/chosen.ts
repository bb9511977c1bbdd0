/** Something that was asked for is not there. */
export class UnknownName extends Error {
  override readonly name = 'UnknownName'
}

/** What was asked for by name, or all. */
export function chosen<Name extends string>(
  asked: readonly string[],
  all: readonly Name[],
  what: string,
): readonly Name[] {
  const unknown = asked.filter((one) => !(all as readonly string[]).includes(one))
  if (unknown.length > 0) {
    throw new UnknownName(
      `there is no ${what} ${unknown.join(', ')}; expected some of ${all.join(', ')}`,
    )
  }
  return asked.length === 0 ? all : all.filter((one) => asked.includes(one))
}
