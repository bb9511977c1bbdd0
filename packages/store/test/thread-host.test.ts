import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { FairleadError } from '@fairlead/core'
import { describe, expect, it } from 'vitest'
import { ThreadHost } from '../src/thread/thread-host.ts'
import { Moved } from '../src/thread/thread-messages.ts'

interface Hosted {
  add(a: number, b: number): number
  later(value: string): Promise<string>
  calls(): readonly string[]
  lengthOf(bytes: Uint8Array): number
  bytes(length: number): Moved<Uint8Array>
  refuse(): void
  fail(): void
  failBadly(): void
  unsendable(): void
  exit(): void
  crash(): Promise<void>
  close(): void
}

const FILE = '../test/hosted-child.mjs'

function onThread(isBroken = false): Promise<ThreadHost<Hosted>> {
  return ThreadHost.onThread<Hosted>(FILE, { path: '/some.db', data: { isBroken } })
}

function failed(reason: string) {
  return { code: 'StoreUnavailable', details: { path: '/some.db', reason } }
}

describe('an object on a thread', () => {
  it('LOG-14: calls begin in their order, and those that take time do not hold up others', async () => {
    const host = await onThread()
    const late = host.call('later', ['a'])
    const sum = host.call('add', [1, 2])
    expect(await host.call('calls', [])).toEqual(['later', 'add'])
    expect([await late, await sum]).toEqual(['a', 3])
    await host.close()
    await expect(host.call('add', [1, 2])).rejects.toMatchObject(failed('closed'))
    await host.close()
  })

  it('LOG-14: buffers change hands, both ways', async () => {
    const host = await onThread()
    const bytes = new Uint8Array(10)
    expect(await host.call('lengthOf', [bytes], [bytes.buffer])).toBe(10)
    expect(bytes.length).toBe(0)
    expect(await host.call('bytes', [3])).toEqual(Uint8Array.of(7, 7, 7))
    await host.close()
  })

  it('LOG-14: errors keep their code, details and cause', async () => {
    const host = await onThread()
    const refused = await host.call('refuse', []).catch((error) => error)
    expect(refused).toBeInstanceOf(FairleadError)
    expect(refused).toMatchObject({
      code: 'NotFound',
      details: { name: 'x' },
      cause: { message: 'why' },
    })
    await expect(host.call('fail', [])).rejects.toMatchObject(failed('full'))
    await expect(host.call('failBadly', [])).rejects.toMatchObject({ code: 'Internal' })
    await expect(host.call('unsendable', [])).rejects.toMatchObject(failed('failed'))
    await expect(host.call('add', [1, (() => {}) as never])).rejects.toMatchObject(failed('failed'))
    expect(await host.call('add', [1, 2])).toBe(3)
    await host.close()
  })

  it('LOG-14: what cannot be opened says why, and leaves no thread', async () => {
    await expect(onThread(true)).rejects.toMatchObject({
      ...failed('failed'),
      message: expect.stringContaining('cannot be opened'),
    })
  })

  it.each(['exit', 'crash'] as const)(
    'LOG-14: if its thread ends (%s), all calls are rejected',
    async (how) => {
      const host = await onThread()
      const calls = [host.call('later', ['a']), host.call(how, []), host.call('later', ['b'])]
      const [, ...outcomes] = await Promise.allSettled(calls)
      expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: failed('failed') })
      await expect(host.call('add', [1, 2])).rejects.toMatchObject(failed('failed'))
      await host.close()
    },
  )

  it('LOG-14: inline it gives the same results and errors', async () => {
    const host = await ThreadHost.inline(
      () => ({
        add: (a: number, b: number) => a + b,
        bytes: () => new Moved(Uint8Array.of(1), []),
        fail: () => {
          throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
        },
        close: () => {},
      }),
      { path: '/some.db' },
    )
    expect(await host.call('add', [1, 2])).toBe(3)
    expect(await host.call('bytes', [])).toEqual(Uint8Array.of(1))
    await expect(host.call('fail', [])).rejects.toMatchObject(failed('full'))
    await host.close()
    await expect(host.call('add', [1, 2])).rejects.toMatchObject(failed('closed'))
  })

  it('LOG-14: an idle one keeps no process alive, and a call under way does', () => {
    const script = `
      import { ThreadHost } from './dist/thread/thread-host.js'
      const host = await ThreadHost.onThread(${JSON.stringify(FILE)}, { path: '/some.db', data: {} })
      host.call('later', ['done']).then(console.log)`
    const root = join(import.meta.dirname, '..')
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--no-warnings', '--input-type=module', '-e', script],
      { cwd: root, encoding: 'utf8' },
    )
    expect({ stdout, stderr, status }).toEqual({ stdout: 'done\n', stderr: '', status: 0 })
  })
})
