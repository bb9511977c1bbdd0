import { invalidParams } from '@fairlead/core/internal'

const SEGMENTS = /^(?:\/[A-Za-z0-9._~-]+)*$/
const CHARACTERS_MAX = 256

/** The path under which everything of a server is, such as `/x/y`; empty for the root (PAGE-2). */
export class BasePath {
  /** Without a slash at its end. */
  readonly text: string

  /** `written`: with or without slashes around it. */
  constructor(written: string) {
    const bare = written.replace(/^\/+|\/+$/g, '')
    this.text = bare === '' ? '' : `/${bare}`
    const isSound =
      SEGMENTS.test(this.text) &&
      this.text.length <= CHARACTERS_MAX &&
      !this.text.split('/').some((segment) => segment === '.' || segment === '..')
    if (!isSound) {
      throw invalidParams('base_path', 'a path such as /fairlead, of letters, digits and . _ ~ -')
    }
  }

  /** The rest of the target of a request, from its slash on; null if it is not below this path. */
  below(target: string): string | null {
    if (this.text === '') return target
    return target.startsWith(`${this.text}/`) ? target.slice(this.text.length) : null
  }

  /** True for the path itself without the slash that a page needs. */
  isBare(target: string): boolean {
    return this.text !== '' && target.split('?', 1)[0] === this.text
  }
}
