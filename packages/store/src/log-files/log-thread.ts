import { serveCalls } from '../thread/serve-calls.ts'
import { LogFiles } from './log-files.ts'
import type { LogFilesOptions } from './open-segments.ts'

/** The arguments of `LogFiles.open`. */
export interface LogThreadData {
  readonly path: string
  readonly options: LogFilesOptions
}

serveCalls(({ path, options }: LogThreadData) => LogFiles.open(path, options))
