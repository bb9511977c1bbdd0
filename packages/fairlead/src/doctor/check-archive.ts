import { archivedFiles, archiveProblem } from '../serve/log-archive.ts'
import { sizeText } from '../storage/store-files.ts'
import { type Finding, fail, ok } from './check.ts'

/** Can the server write its archive, and how far does it reach? */
export function checkArchive(folder: string): Finding {
  const problem = archiveProblem(folder)
  if (problem !== null) {
    const advice = `Let this user write ${folder}; until then records are trimmed without being archived after ten minutes.`
    return fail('archive', `The log cannot be archived: ${problem}.`, advice)
  }
  const files = archivedFiles(folder)
  const newest = files.at(-1)
  if (newest === undefined) return ok('archive', `${folder} has no archived log yet.`)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const at = new Date(newest.at).toISOString()
  const text = `${folder} has ${sizeText(bytes)} in ${files.length} files, the last of ${at}.`
  return ok('archive', text)
}
