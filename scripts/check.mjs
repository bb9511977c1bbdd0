// `npm run check`: everything that can be said about the code without running it. All checks run,
// even after one has failed, so that one go shows all there is to repair.
import './setup.mjs'
import { spawnSync } from 'node:child_process'

/** @type {[name: string, program: string, args: string[]][]} */
const CHECKS = [
  ['format and lint', 'biome', ['check', '--error-on-warnings', '.']],
  ['lint with types', 'oxlint', ['--type-aware', '--deny-warnings']],
  ['types of tests', 'tsc', ['--noEmit', '-p', 'tsconfig.test.json']],
  ['reference pages', process.execPath, ['scripts/reference.mjs', '--check']],
  ['Lua in the code', process.execPath, ['scripts/lua.mjs', '--check']],
]

let failed = 0
for (const [name, program, args] of CHECKS) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}`)
  if (status === 0) continue
  failed++
  console.log(error === undefined ? `${stdout}${stderr}` : `${program}: ${error.message}`)
}
process.exitCode = failed === 0 ? 0 : 1
