/** For an error that nobody listens to. */
export function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}
