import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ProvidersFile, type SignupEvent, signupWorker } from '../src/index.ts'
import { HandSource, SITE_KEY, siteRow, startBookingProvider } from './rig.ts'

it('PROFILE-4: a platform that is added to the file is served from then on, without a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-reload-'))
  const path = join(folder, 'providers.yaml')
  const site = await startBookingProvider({ token: SITE_KEY })
  const write = (...names: readonly string[]) => {
    const rows = Object.fromEntries(names.map((name) => [name, siteRow(site.url)]))
    writeFileSync(path, JSON.stringify({ providers: rows }))
  }
  write('one')
  const providers = new ProvidersFile({ path, env: { SITE_KEY } })
  const source = new HandSource()
  const events: SignupEvent[] = []
  const opened = source.nextOpen()
  const worker = signupWorker({
    source,
    providerId: 'provider:signup',
    providers,
    onEvent: (event) => events.push(event),
  })
  await opened
  expect((await source.lease({ provider: 'one' })).type).toBe('complete')
  expect((await source.lease({ provider: 'two' })).type).toBe('decline')

  const reopened = source.nextOpen()
  write('one', 'two')
  expect(providers.reload()).toBeNull()
  await reopened
  expect(source.hellos.map(({ offer }) => offer?.platforms)).toEqual([['one'], ['one', 'two']])
  expect(events).toContainEqual({ type: 'platformsChanged', platforms: ['one', 'two'] })
  expect((await source.lease({ provider: 'two' })).type).toBe('complete')

  await worker.stop()
  providers.close()
  await site.stop()
  rmSync(folder, { recursive: true })
})
