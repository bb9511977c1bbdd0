import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { TrustedProxies } from './trusted-proxies.ts'

function asked(remoteAddress: string, forwarded?: string): IncomingMessage {
  return { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as never
}

it.each([
  ['10.1.2.3', undefined, '10.1.2.3'],
  ['10.1.2.3', '192.0.2.7', '192.0.2.7'],
  ['::ffff:10.1.2.3', '192.0.2.7', '192.0.2.7'],
  ['10.1.2.3', '192.0.2.1, 192.0.2.7, 10.9.9.9', '192.0.2.7'],
  ['fd00::1', '2001:db8::7', '2001:db8::7'],
  ['10.1.2.3', 'nonsense', '10.1.2.3'],
  ['192.0.2.9', '192.0.2.7', '192.0.2.9'],
])('LIMITS-3: a request by %s for %s comes from %s', (peer, forwarded, client) => {
  const proxies = new TrustedProxies(['10.0.0.0/8', 'fd00::/8'])
  expect(proxies.clientOf(asked(peer, forwarded))).toBe(client)
})

it.each(['proxy.example', '10.0.0.0/33', '10.0.0.0/x', '', 'fd00::/129'])(
  'LIMITS-3: %j is no proxy',
  (written) => {
    expect(() => new TrustedProxies([written])).toThrow(
      'server.trusted_proxies: expected addresses',
    )
  },
)
