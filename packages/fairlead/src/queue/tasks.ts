import type { StandardSchema } from '@fairlead/client'

/** The Standard Schemas of one task: Zod, Valibot and ArkType have them. They check while the program runs. */
export interface TaskSchemas {
  readonly data?: StandardSchema
  readonly result?: StandardSchema
}

/** Schemas by task name. */
export type SchemasByName = { readonly [name: string]: TaskSchemas }

/** Tasks of any names and types, for a queue that was given none. */
// biome-ignore lint/suspicious/noExplicitAny: without types every payload and result will do
export type AnyTasks = { readonly [name: string]: (data: any) => any }

/** The names of a queue's tasks. Each is described by a function type, or by its schemas. */
export type NameIn<Tasks> = keyof Tasks & string

// biome-ignore lint/suspicious/noExplicitAny: only the place of the parameter counts
type AnyFunction = (data: any) => unknown

/** The data that `add` takes. */
export type DataIn<Task> = Task extends AnyFunction
  ? Parameters<Task>[0]
  : Task extends { readonly data: infer Schema }
    ? TypesOf<Schema>['input']
    : Untyped

/** The data that a handler gets: what the schema made of it. */
export type DataOut<Task> = Task extends AnyFunction
  ? Parameters<Task>[0]
  : Task extends { readonly data: infer Schema }
    ? TypesOf<Schema>['output']
    : Untyped

/** What a handler returns. */
export type Returned<Task> = Task extends AnyFunction
  ? Awaited<ReturnType<Task>>
  : Task extends { readonly result: infer Schema }
    ? TypesOf<Schema>['input']
    : unknown

/** What `job.result()` gives. */
export type ResultOut<Task> = Task extends AnyFunction
  ? Awaited<ReturnType<Task>>
  : Task extends { readonly result: infer Schema }
    ? TypesOf<Schema>['output']
    : Untyped

// biome-ignore lint/suspicious/noExplicitAny: as in AnyTasks
type Untyped = any

type TypesOf<Schema> =
  Schema extends StandardSchema<infer Input, infer Output>
    ? { readonly input: Input; readonly output: Output }
    : { readonly input: Untyped; readonly output: Untyped }
