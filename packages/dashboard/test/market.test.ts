import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from '@fairlead/client'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Served } from './served.ts'
import { launch, PATIENCE_MS, POLL, Watched } from './watched.ts'

const CLI = join(import.meta.dirname, '..', '..', 'fairlead', 'bin', 'fairlead.mjs')

let browser: Browser
let served: Served
let worker: Worker
let tab: Watched
let id: string

/** A fund with epochs of a second, in which one job was proved and paid. */
beforeAll(async () => {
  browser = await launch()
  served = await Served.open({
    preset: 'fund',
    policy: {
      queue: { completion: { ai_verification: 'proof' }, quotas: { epoch_secs: 1 } },
      economics: { base_rate: { ai: 1_000 } },
    },
  })
  const { client, folder } = served
  const keyFile = join(folder, 'provider.key')
  writeFileSync(keyFile, `ed25519 ${'07'.repeat(32)}\n`)
  worker = client.worker({
    providerId: 'provider:atlas',
    kinds: ['ai'],
    models: ['*'],
    concurrency: 1,
    drainMs: null,
    prover: { keyFile },
    handler: () => 'proved',
  })
  worker.closed.catch(() => undefined)
  const registered = () =>
    client.call('aicf.listProviders', {}).then(({ providers }) => providers.length)
  await vi.waitUntil(registered, POLL)
  await client.call('aicf.stake', { provider_id: 'provider:atlas' as never, amount_u64: 1_000_000 })
  id = (await client.aiEnqueue('llama3-8b', 'hello', { max_tokens: 300 })).task_id
  await client.waitForResult(id)
  const settled = () =>
    client.call('aicf.listSettlements', {}).then(({ settlements }) => settlements.length)
  await vi.waitUntil(settled, POLL)
  tab = await Watched.open(browser, served.url)
}, PATIENCE_MS)

afterAll(async () => {
  await browser?.close()
  await worker?.stop({ graceMs: 0 }).catch(() => undefined)
  await served?.close()
}, PATIENCE_MS)

describe('a market', () => {
  it(
    'shows its epochs, and the file of each is verified without the server',
    async () => {
      await tab.page.getByRole('link', { name: 'Settlements' }).click()
      await tab.page.getByRole('table', { name: 'Epochs' }).waitFor()
      expect(await tab.violations()).toEqual([])
      const file = tab.page.waitForEvent('download')
      await tab.press('Download')
      const path = join(served.folder, 'settlement.json')
      await (await file).saveAs(path)
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [CLI, 'settle', 'verify', path],
        {
          encoding: 'utf8',
        },
      )
      expect(status, stdout + stderr).toBe(0)
    },
    PATIENCE_MS,
  )

  it(
    'shows stake, bands and proofs where they are',
    async () => {
      await tab.go('#/providers')
      await tab.sees('1,000,000')
      await tab.page.getByRole('columnheader', { name: 'Stake' }).waitFor()
      await tab.go('#/providers/provider%3Aatlas')
      await tab.page.getByRole('table', { name: 'Service' }).waitFor()
      expect(await tab.violations()).toEqual([])
      await tab.go(`#/jobs/${id}`)
      await tab.sees('Nullifier')
      await tab.sees('Fee at most')
      expect(await tab.violations()).toEqual([])
      expect(tab.troubles).toEqual([])
    },
    PATIENCE_MS,
  )
})
