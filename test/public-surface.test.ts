import * as client from '@fairlead/client'
import * as core from '@fairlead/core'
import * as limiter from '@fairlead/limiter'
import * as signup from '@fairlead/signup'
import { expect, it } from 'vitest'

// A change of these lists is a change for users: it belongs into the changelog.
it.each([
  ['core', core],
  ['client', client],
  ['limiter', limiter],
  ['signup', signup],
])('@fairlead/%s exports what it is known to export', async (name, surface) => {
  const names = Object.keys(surface).sort()
  await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(`public-surface.${name}.txt`)
})
