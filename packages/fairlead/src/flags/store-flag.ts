import type { NamedFlags, Option } from '../command.ts'

/** For commands that work beside a store; it means the same as in `serve`. */
export const STORE_OPTION: Option = {
  flags: '--store <file>',
  text: 'SQLite file of the server, as given to serve (./fairlead.db)',
}

export function storeFlag({ store }: { readonly store?: string }): NamedFlags {
  return { 'store.path': { flag: '--store', raw: store } }
}
