import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

it('examples/openai-limits.mjs gets an answer to every question', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'examples', 'openai-limits.mjs'), '25'],
    { encoding: 'utf8' },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^25 answers in /)
})
