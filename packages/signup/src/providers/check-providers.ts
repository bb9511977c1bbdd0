import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import { readProviders } from './providers.ts'

/**
 * All that is wrong with a file of booking sites, each problem behind its file and line; empty if it is in order.
 * Secrets are not looked up, so that it can be checked where they are not (PROFILE-5).
 */
export function checkProviders(path: string): readonly string[] {
  const file = resolve(path)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return [`${file}: cannot be read (${code}); check the path and the rights`]
  }
  try {
    readProviders(text, { env: null, folder: dirname(file) })
    return []
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error
    const problems = (error.details['problems'] ?? [error.message]) as readonly string[]
    return problems.map((problem) => withLocation(problem, file, text))
  }
}

/** A problem of the text itself names its line; any other begins with the path of its setting. */
function withLocation(problem: string, file: string, text: string): string {
  if (problem.startsWith('line ')) return `${file}, ${problem}`
  const line = lineOf(problem.slice(0, problem.indexOf(':')), text)
  return line === null ? `${file}: ${problem}` : `${file}, line ${line}: ${problem}`
}

/** Where a setting stands, or the deepest group around it. A name may have dots in it. */
function lineOf(path: string, text: string): number | null {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  let node: unknown = document.contents
  let left = path
  let line: number | null = null
  while (isMap(node)) {
    const pair = node.items.find(({ key }) => {
      const name = isScalar(key) ? String(key.value) : ''
      return left === name || left.startsWith(`${name}.`)
    })
    if (pair === undefined || !isScalar(pair.key)) break
    line = lines.linePos(pair.key.range?.[0] ?? 0).line
    left = left.slice(String(pair.key.value).length + 1)
    node = pair.value
  }
  return line
}
