import * as core from '@fairlead/core'
import * as limiter from '@fairlead/limiter'
import { expect, it } from 'vitest'

// A change of these lists is a change for users: it belongs into the changelog.
it.each([
  ['core', core],
  ['limiter', limiter],
])('@fairlead/%s exports what it is known to export', async (name, exported) => {
  const names = Object.keys(exported).sort()
  await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(`public-surface.${name}.txt`)
})
