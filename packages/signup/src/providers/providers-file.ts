import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { type Providers, readProviders } from './providers.ts'

export interface ProvidersFileOptions {
  readonly path: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** False reads a file without its secrets, for those who send nothing; its adapters are of no use then. */
  readonly needsSecrets?: boolean
  /** Reads the file again when it changes; without it only `reload` does. */
  readonly watch?: boolean
  /** Hears why a changed file was not taken over. The old one counts on. */
  readonly onError?: (error: FairleadError) => void
}

/** An editor writes a file in several steps; they are read as one. */
const QUIET_MS = 100

/** The providers of a file, and every later state of it that was in order (PROFILE-4). */
export class ProvidersFile {
  readonly #options: ProvidersFileOptions
  readonly #path: string
  readonly #listeners = new Set<(providers: Providers) => void>()
  #current: Providers
  #watcher: FSWatcher | null = null
  #timer: NodeJS.Timeout | undefined

  /** Throws where the file is wrong: nobody starts with half a configuration. */
  constructor(options: ProvidersFileOptions) {
    this.#options = options
    this.#path = resolve(options.path)
    this.#current = this.#read()
    if (options.watch === true) this.#watch()
  }

  get current(): Providers {
    return this.#current
  }

  /** Takes the file over as it is now, whole or not at all; gives why not. */
  reload(): FairleadError | null {
    try {
      this.#current = this.#read()
    } catch (error) {
      if (!(error instanceof FairleadError)) throw error
      this.#options.onError?.(error)
      return error
    }
    for (const listener of this.#listeners) listener(this.#current)
    return null
  }

  /** Calls at every change; the function that is returned takes it back. */
  onChange(listener: (providers: Providers) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#watcher?.close()
    this.#listeners.clear()
  }

  #read(): Providers {
    const { env = process.env, needsSecrets = true } = this.#options
    const folder = dirname(this.#path)
    return readProviders(readText(this.#path), { env: needsSecrets ? env : null, folder })
  }

  /** The folder, because many editors put a new file into the place of the old one. */
  #watch(): void {
    const name = basename(this.#path)
    this.#watcher = watch(dirname(this.#path), { persistent: false }, (_, changed) => {
      if (changed !== null && changed !== name) return
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.reload(), QUIET_MS)
      this.#timer.unref()
    })
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new FairleadError(
      'InvalidParams',
      `providers: cannot read ${path} (${code}); check the path and the rights`,
      { field: 'providers' },
    )
  }
}
