import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder `bench/` of the checkout; this file runs as `bench/dist/queue/peer.js`. */
export const BENCH = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const PEERS = join(BENCH, 'peers')

/**
 * Imports a package of `bench/peers`. Its types are written down where it is used, as far as they are
 * needed: the product is built and checked without the peers being there.
 */
export async function importPeer<Module>(name: string): Promise<Module> {
  const { load } = (await import(pathToFileURL(join(PEERS, 'load.mjs')).href)) as {
    load: (name: string) => Promise<unknown>
  }
  return (await load(name)) as Module
}
