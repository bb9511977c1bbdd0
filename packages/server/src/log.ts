import { type DestinationStream, pino } from 'pino'

/** What the server needs of a logger; pino's fits. */
export interface Logger {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

export const SILENT: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** Where a secret or somebody's data could stand in what is logged. */
const SECRET_PATHS = [
  'token',
  'authorization',
  'headers.authorization',
  'headers.cookie',
  'payload',
  'params.payload',
  'params.output',
  'params.meta',
  'output',
  'prompt',
  'args',
  'err.details',
  'err.cause',
]

/** Structured logs, a JSON object a line, with all that is secret or personal left out (LOG-1). */
export function createLogger(
  options: { readonly level?: string; readonly to?: DestinationStream } = {},
): Logger {
  const { level = 'info', to } = options
  const settings = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_PATHS, censor: '[redacted]' },
  }
  return to === undefined ? pino(settings) : pino(settings, to)
}

function ignore(): void {}
