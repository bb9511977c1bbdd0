import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@fairlead/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fairlead, serve } from './cli-process.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-doctor-chain-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('CLAIM-5: doctor tells of blocks that the running server refused', async () => {
  const chain = { source: 'blocks', finality_k: 1 }
  writeFileSync(join(folder, 'fairlead.yaml'), JSON.stringify({ preset: 'fund', chain }))
  const server = await serve(folder)
  const client = connect(server.url)
  const block = (height: number) =>
    client.call('chain.block', { height, time: Date.now(), miner_id: 'm-1', proofs: [] })
  const doctor = async () =>
    (await fairlead(['doctor'], { cwd: folder, env: { FAIRLEAD_URL: server.url } })).out
  try {
    for (const height of [100, 101, 102]) await block(height)
    expect(await doctor()).toMatch(/ok +chain +The server has refused no block since its start\./)
    await expect(block(100)).rejects.toMatchObject({ code: 'InvalidState' })
    expect(await doctor()).toMatch(/warn +chain +Since its start the server has refused 1 block,/)
  } finally {
    await client.close()
    await server.stop()
  }
})
