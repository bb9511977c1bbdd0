import type { IncomingMessage, ServerResponse } from 'node:http'

export type Route = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
) => unknown

/** What a path takes, by HTTP method. */
export type Methods = Readonly<Record<string, Route>>

/** What there is, by path. */
export type Routes = Readonly<Record<string, Methods>>
