import type { JobRow } from '@fairlead/core'
import { isoUtc } from '@fairlead/core/internal'
import { durationText } from './duration-text.ts'

/** The options of a job in a sentence each; none for a job without options. */
export function optionLines({ options }: Pick<JobRow, 'options'>): string[] {
  if (options === null) return []
  const { runAt, attempts, backoff, timeoutMs, tags, dependsOn, onDependency } = options
  const said = [
    runAt === undefined ? null : `not before ${isoUtc(runAt)}`,
    attempts === undefined ? null : `at most ${attempts} failed attempts`,
    backoff === undefined
      ? null
      : `a backoff from ${durationText(backoff.baseMs)} to ${durationText(backoff.capMs)}`,
    timeoutMs === undefined ? null : `at most ${durationText(timeoutMs)} an attempt`,
    dependsOn === undefined ? null : dependencyText(dependsOn.length, onDependency === 'run'),
    tags === undefined ? null : `tags ${tags.join(', ')}`,
  ].filter((text) => text !== null)
  return said.length === 0 ? [] : [`Its options: ${said.join('; ')}.`]
}

function dependencyText(count: number, runs: boolean): string {
  const jobs = count === 1 ? 'one other job' : `${count} other jobs`
  return runs ? `after ${jobs}, however they end` : `after ${jobs}, if they complete`
}
