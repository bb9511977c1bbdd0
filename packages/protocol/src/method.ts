import type { ErrorCode } from '@fairlead/core'
import type { z } from 'zod'

/** What a token may do. `admin` may do everything. */
export const ROLES = ['requester', 'provider', 'operator', 'admin', 'auditor'] as const
export type Role = (typeof ROLES)[number]

/** Whether a call changes anything that lasts; a read-only token may make those that only read (SCOPE-4). */
export type Access = 'read' | 'write'

/** One call: all that the server, the clients and the documents know of it comes from here. */
export interface Method<
  Name extends string = string,
  Params extends z.ZodType = z.ZodType,
  Result extends z.ZodType = z.ZodType,
  Does extends Access = Access,
> {
  readonly name: Name
  /** One sentence. */
  readonly summary: string
  /** What a summary has no room for. */
  readonly description?: string
  /** Who may call it beside `admin`; each within what belongs to it. */
  readonly roles: readonly Role[]
  readonly access: Does
  readonly params: Params
  readonly result: Result
  /** What it may be refused with, beside what every call may be (see `COMMON_ERRORS`). */
  readonly errors: readonly ErrorCode[]
  readonly example: { readonly params: z.input<Params>; readonly result: z.input<Result> }
}

/** What any call may be refused with. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'InvalidParams',
  'Unauthorized',
  'Forbidden',
  'RateLimited',
  'StoreUnavailable',
  'Internal',
]

export function defineMethod<
  const Name extends string,
  Params extends z.ZodType,
  Result extends z.ZodType,
  const Does extends Access,
>(method: Method<Name, Params, Result, Does>): Method<Name, Params, Result, Does> {
  return method
}
