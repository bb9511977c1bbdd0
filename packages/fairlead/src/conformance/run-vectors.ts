import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { type Difference, differences, isObject } from './differences.ts'
import type { Json, Suite } from './suite.ts'
import { suitesOn } from './suites/index.ts'

export interface CaseFailure {
  readonly name: string
  readonly differences: readonly Difference[]
}

export interface SuiteReport {
  readonly suite: string
  readonly file: string
  /** False for a suite that this version of the product does not know. */
  readonly known: boolean
  readonly passed: number
  readonly failed: number
  readonly failures: readonly CaseFailure[]
}

/** Runs the vector files of a folder, in order of their names; with `only`, that suite alone. */
export async function runVectors(
  folder: string,
  { only, redisUrl }: { readonly only: string | null; readonly redisUrl: string | null },
  onReport: (report: SuiteReport) => void,
): Promise<SuiteReport[]> {
  const suites = suitesOn(redisUrl)
  const reports: SuiteReport[] = []
  const seen: string[] = []
  for (const file of await vectorFiles(folder)) {
    const vectors = parseVectors(await readText(folder, file), file)
    seen.push(vectors.suite)
    if (only !== null && vectors.suite !== only) continue
    const report = await runSuite(vectors, file, suites)
    reports.push(report)
    onReport(report)
  }
  if (reports.length > 0) return reports
  const wanted = only === null ? 'a vector file (*.json)' : `a vector file of suite ${only}`
  const found = seen.length === 0 ? 'none' : `suites ${seen.join(', ')}`
  throw malformed(folder, `expected ${wanted}, found ${found}`)
}

interface Vectors {
  readonly suite: string
  readonly cases: readonly { readonly name: string; readonly input: Json; readonly expect: Json }[]
}

async function runSuite(
  { suite: name, cases }: Vectors,
  file: string,
  suites: ReadonlyMap<string, Suite>,
): Promise<SuiteReport> {
  const suite = suites.get(name)
  if (suite === undefined) {
    return { suite: name, file, known: false, passed: 0, failed: 0, failures: [] }
  }
  const failures: CaseFailure[] = []
  for (const { name: caseName, input, expect } of cases) {
    let found: readonly Difference[]
    try {
      const { expected, actual } = await suite(input, expect)
      found = differences(expected, actual)
    } catch (error) {
      // A case that the product cannot run has failed; the others still count.
      const message = error instanceof Error ? error.message : String(error)
      found = [{ path: '', expected: 'a result', actual: `an exception: ${message}` }]
    }
    if (found.length > 0) failures.push({ name: caseName, differences: found })
  }
  const failed = failures.length
  return { suite: name, file, known: true, passed: cases.length - failed, failed, failures }
}

async function vectorFiles(folder: string): Promise<string[]> {
  try {
    const files = await readdir(folder)
    return files.filter((file) => file.endsWith('.json')).sort()
  } catch (error) {
    throw malformed(folder, `expected a folder of vector files (${(error as Error).message})`)
  }
}

async function readText(folder: string, file: string): Promise<string> {
  try {
    return await readFile(join(folder, file), 'utf8')
  } catch (error) {
    throw malformed(file, `expected a readable file (${(error as Error).message})`)
  }
}

/** Checks the frame that all vector files share; each suite knows its own cases. */
function parseVectors(text: string, file: string): Vectors {
  let json: Json
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw malformed(
      file,
      `${locationOf(text, error as Error)}not JSON: ${(error as Error).message}`,
    )
  }
  const need = (holds: boolean, at: string, what: string): void => {
    if (!holds) throw malformed(file, `${at}: expected ${what}`)
  }
  need(isObject(json), 'the file', 'an object')
  need(typeof json.suite === 'string' && json.suite !== '', 'suite', 'a name')
  need(json.version === 1, 'version', '1, the version this program reads')
  need(Array.isArray(json.cases), 'cases', 'a list')
  const names = new Set<string>()
  for (const [i, entry] of json.cases.entries()) {
    const at = `cases[${i}]`
    need(isObject(entry), at, 'an object')
    need(typeof entry.name === 'string', `${at}.name`, 'text')
    need(!names.has(entry.name), `${at}.name`, `a name of its own; ${entry.name} is taken`)
    names.add(entry.name)
    need(isObject(entry.input), `${at}.input`, 'an object')
    need(isObject(entry.expect), `${at}.expect`, 'an object')
  }
  return json
}

/** Where the parser stopped, as line and column. */
function locationOf(text: string, { message }: Error): string {
  const before = text.slice(0, stoppedAt(text, message)).split('\n')
  return `line ${before.length}, column ${(before.at(-1) as string).length + 1}: `
}

/** The parser gives a position, or the text around it with ten characters in front, or the end. */
function stoppedAt(text: string, message: string): number {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  const [, token = '', dots, around = ''] =
    /^Unexpected token '?(.+?)'?, (\.\.\.)?"([\s\S]*)"(?:\.\.\.)? is not valid JSON$/.exec(
      message,
    ) ?? []
  if (token === '') return text.length
  const start = text.indexOf(around)
  return dots === undefined ? start + around.indexOf(token) : start + 10
}

function malformed(where: string, what: string): FairleadError {
  return new FairleadError('InvalidParams', `${where}: ${what}`, { field: where })
}
