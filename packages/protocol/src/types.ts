import type { z } from 'zod'
import type { METHODS, MethodName } from './methods/index.ts'
import type { NOTIFICATIONS, NotificationName } from './notifications/index.ts'

/** What a client sends. */
export type ParamsOf<Name extends MethodName> = z.input<(typeof METHODS)[Name]['params']>
/** What a server gets of it, checked. */
export type CheckedParamsOf<Name extends MethodName> = z.output<(typeof METHODS)[Name]['params']>
/** What a server answers, in its JSON form. */
export type ResultOf<Name extends MethodName> = z.output<(typeof METHODS)[Name]['result']>
/** What a server says by itself, in its JSON form. */
export type NotificationOf<Name extends NotificationName> = z.output<
  (typeof NOTIFICATIONS)[Name]['params']
>
