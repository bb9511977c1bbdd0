import { openEngine } from '@fairlead/engine'
import { type Identity, startServer } from '@fairlead/server'
import { MemoryStore } from '@fairlead/store/memory'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openQueue, type Queue } from '../../dist/index.js'

const IDENTITIES: Readonly<Record<string, Identity>> = Object.fromEntries(
  [
    ['admin', 'me'],
    ['requester', 'acme'],
    ['provider', 'provider:mailer'],
  ].map(([role, subject]) => [
    `token-of-${role}`,
    { tokenId: role, role, subject, tier: 'FREE' } as Identity,
  ]),
)

let url: string
const closes: (() => Promise<void>)[] = []
beforeEach(async () => {
  const engine = await openEngine({ store: new MemoryStore() })
  const tokens = {
    verify: (token: string) => IDENTITIES[token] ?? null,
    isEmpty: () => false,
  }
  const server = await startServer({ engine, tokens, listen: { host: '127.0.0.1', port: 0 } })
  url = server.url
  closes.push(
    () => server.close(),
    () => engine.close(),
  )
})
afterEach(async () => {
  for (const close of closes.splice(0)) await close()
})

async function opened(token: string, workerToken?: string): Promise<Queue> {
  const target = { url, token, ...(workerToken === undefined ? {} : { workerToken }) }
  const queue = await openQueue(target, { onError: () => {} })
  closes.unshift(() => queue.close())
  return queue
}

it('QUEUE-15: the token of an admin adds and works', async () => {
  const queue = await opened('token-of-admin')
  queue.work('email', () => 'sent')
  expect(await (await queue.add('email', {})).result()).toBe('sent')
})

it('QUEUE-15: a requester adds, and a provider works with a token of its own', async () => {
  const queue = await opened('token-of-requester', 'token-of-provider')
  queue.work('email', ({ to }) => `sent to ${to}`, { provider: 'provider:mailer' })
  const job = await queue.add('email', { to: 'a' })
  expect(await job.result()).toBe('sent to a')
  expect(await job.explain()).toContain('provider:mailer')
})

it('QUEUE-15: a worker without the right token stops, and says why', async () => {
  const queue = await opened('token-of-requester')
  const worker = queue.work('email', () => 'sent')
  await expect(worker.closed).rejects.toMatchObject({
    code: 'Forbidden',
    message: expect.stringMatching(
      /not for the role requester.*workerToken has the role provider$/,
    ),
  })
  const other = await opened('token-of-requester', 'token-of-provider')
  await expect(other.work('email', () => 'sent').closed).rejects.toMatchObject({
    code: 'Forbidden',
    message: expect.stringMatching(/is for provider:mailer.*name the provider.*\{ provider \}/),
  })
  await expect((await opened('no-token')).add('email', {})).rejects.toMatchObject({
    code: 'Unauthorized',
  })
})
