import { execFileSync } from 'node:child_process'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { tempPath } from './temp-store.ts'

const CHILD = join(import.meta.dirname, 'modes-child.mjs')

it('FILES-1: no file of a store can be read by others, whatever the umask is', () => {
  const path = tempPath()
  const said = execFileSync(process.execPath, ['--no-warnings', CHILD, path], { encoding: 'utf8' })
  const modes = JSON.parse(said) as Record<string, number>
  const store = basename(path)
  expect(Object.keys(modes)).toEqual(
    expect.arrayContaining([
      store,
      `${store}-wal`,
      `${store}-log-1`,
      `${store}.holder`,
      `${store}.job-logs`,
      `${store}.job-logs-wal`,
      `${store}.lock`,
    ]),
  )
  for (const [name, mode] of Object.entries(modes)) expect([name, mode]).toEqual([name, 0o600])
})
