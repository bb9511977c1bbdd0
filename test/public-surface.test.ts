import * as core from '@fairlead/core'
import { expect, it } from 'vitest'

// A change of these lists is a change for users: it belongs into the changelog.
it('@fairlead/core exports what it is known to export', async () => {
  const names = Object.keys(core).sort()
  await expect(`${names.join('\n')}\n`).toMatchFileSnapshot('public-surface.core.txt')
})
