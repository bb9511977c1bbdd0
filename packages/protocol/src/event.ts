import type { z } from 'zod'

/** Something that happened, as subscribers hear of it. Fields of events are in camelCase (EVENT-1). */
export interface EventDefinition<
  Name extends string = string,
  Schema extends z.ZodType = z.ZodType,
> {
  readonly name: Name
  readonly summary: string
  readonly schema: Schema
  readonly example: z.input<Schema>
}

/** A message from the server that nobody asked for by an id. */
export interface NotificationDefinition<
  Name extends string = string,
  Params extends z.ZodType = z.ZodType,
> {
  readonly name: Name
  readonly summary: string
  readonly params: Params
  readonly example: z.input<Params>
}

export function defineEvent<const Name extends string, Schema extends z.ZodType>(
  event: EventDefinition<Name, Schema>,
): EventDefinition<Name, Schema> {
  return event
}

export function defineNotification<const Name extends string, Params extends z.ZodType>(
  notification: NotificationDefinition<Name, Params>,
): NotificationDefinition<Name, Params> {
  return notification
}
