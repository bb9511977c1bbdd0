import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Rig } from './rig.ts'

let rig: Rig
beforeEach(async () => {
  rig = await Rig.open()
})
afterEach(() => rig.close())

const places = () => [...rig.engine.followers.list()]

describe('followers of the journal', () => {
  it('FOLLOW-1: begin at the newest event, and their place never goes back', async () => {
    await rig.enqueue('a').done
    const { followers, lastEventSeq: newest } = rig.engine
    expect(await followers.begin('hooks')).toBe(newest)
    await rig.enqueue('b').done
    expect(await followers.begin('hooks')).toBe(newest)
    await followers.reached('hooks', newest + 1)
    await followers.reached('hooks', newest)
    expect(places()).toEqual([['hooks', newest + 1]])
    await followers.end('hooks')
    // One that has ended does not come back by a word that was under way.
    await followers.reached('hooks', newest + 5)
    expect(places()).toEqual([])
  })

  it('FOLLOW-1: survive restarts and crashes', async () => {
    await rig.engine.followers.begin('ended')
    await rig.engine.followers.begin('hooks')
    await rig.engine.followers.reached('hooks', 9)
    await rig.restart(1_000)
    expect(places()).toContainEqual(['hooks', 9])
    await rig.engine.followers.reached('hooks', 12)
    await rig.engine.followers.end('ended')
    await rig.crash(1_000)
    expect(places()).toEqual([['hooks', 12]])
  })

  it('FOLLOW-1: are 100 at most', async () => {
    const { followers } = rig.engine
    for (let i = 0; i < 100; i++) await followers.begin(`f-${i}`)
    await expect(followers.begin('one more')).rejects.toMatchObject({ code: 'LimitExceeded' })
    await followers.begin('f-7')
    for (const id of ['', 'x'.repeat(65)]) {
      await expect(followers.begin(id)).rejects.toMatchObject({ code: 'InvalidParams' })
    }
    await expect(followers.reached('f-7', -1)).rejects.toMatchObject({ code: 'InvalidParams' })
  })

  it('FOLLOW-1, AUDIT-8: keep the events after their places', async () => {
    const { engine } = rig
    await engine.setPolicy({ journal: { keep_secs: 10, keep_entries: 2 } })
    const place = await engine.followers.begin('hooks')
    for (const key of ['a', 'b', 'c', 'd', 'e']) await rig.enqueue(key).done
    await engine.followers.reached('hooks', place + 2)
    await rig.clock.advance(20_000)
    expect((await engine.pruneAudit(rig.clock.now())).cut.seq).toBe(place + 2)
    await engine.followers.end('hooks')
    expect((await engine.pruneAudit(rig.clock.now())).cut.seq).toBeGreaterThan(place + 2)
  })
})
