import { existsSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteStore, type SqliteStore } from '../src/sqlite/sqlite-store.ts'
import { applySamples, modelOf } from './sample-store.ts'
import { tempPath } from './temp-store.ts'

async function inMemory(): Promise<SqliteStore> {
  const store = await openSqliteStore(':memory:')
  onTestFinished(() => store.close())
  return store
}

describe('a store in memory', () => {
  it('STORE-19: has what a store in a file has, and makes no file', async () => {
    const store = await inMemory()
    await applySamples(store, 1, 4)
    const model = await modelOf(4)
    expect(await store.read.everything()).toEqual(await model.read.everything())
    expect(await store.tables.load()).toEqual(await model.load())
    expect(await store.tables.sync()).toBe(4)
    await store.log.trim(2)
    expect(await store.log.stats()).toMatchObject({ segments: 0, oldest: 3, newest: 4 })
    expect(existsSync(':memory:')).toBe(false)
  })

  it('STORE-19: is another one each time', async () => {
    const [one, other] = [await inMemory(), await inMemory()]
    await applySamples(one, 1, 1)
    expect((await one.tables.load()).jobs).toHaveLength(8)
    expect((await other.tables.load()).jobs).toHaveLength(0)
  })

  it('STORE-19: has no backup', async () => {
    const to = tempPath()
    await expect((await inMemory()).backup(to)).rejects.toMatchObject({ code: 'InvalidState' })
    expect(existsSync(to)).toBe(false)
  })
})
