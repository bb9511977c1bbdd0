import type { LookupAddress } from 'node:dns'
import { expect, it } from 'vitest'
import { AddressGuard } from './address-guard.ts'

const REFUSED = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
  ...['127.0.0.1', '127.255.255.255', '169.254.0.0', '169.254.169.254', '172.16.0.0'],
  ...['172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.0.1', '192.168.255.255', '198.18.0.1'],
  ...['198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1'],
  ...[
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '100::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fe80::1%eth0',
  ],
  ...[
    'febf::1',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
  ],
]

const OPEN = [
  ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...[
    '128.0.0.1',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
  ],
  ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['2606:4700::1111', '2a00:1450:4001::1', '2001:4860::8888', '2003::1', '3ffe::1'],
]

function isOpen(address: string, allow: readonly string[] = []): boolean {
  try {
    new AddressGuard(allow).checkLiteral(address.includes(':') ? `[${address}]` : address)
    return true
  } catch {
    return false
  }
}

it('HOOK-6: addresses beside the public internet are refused', () => {
  expect(REFUSED.filter((address) => isOpen(address))).toEqual([])
  expect(OPEN.filter((address) => !isOpen(address))).toEqual([])
})

it('HOOK-6: a list allows some of them', () => {
  const allow = ['10.1.0.0/16', '::1', 'fd00::/8']
  expect(['10.1.2.3', '::1', 'fd12::1'].filter((address) => !isOpen(address, allow))).toEqual([])
  const still = ['10.2.0.0', '127.0.0.1', 'fc00::1', '::2']
  expect(still.filter((address) => isOpen(address, allow))).toEqual([])
})

it('HOOK-6: of the addresses of a host, only those that passed are given to the connection', async () => {
  const addresses: LookupAddress[] = [
    { address: '10.0.0.1', family: 4 },
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]
  const guard = new AddressGuard([], (_, found) => found(null, addresses))
  expect(await looked(guard, true)).toEqual(addresses.slice(1))
  expect(await looked(guard, false)).toEqual('1.1.1.1')
  const inside = new AddressGuard([], (_, found) => found(null, addresses.slice(0, 1)))
  await expect(looked(inside, true)).rejects.toThrow('a.test is 10.0.0.1')
  const failing = new AddressGuard([], (_, found) => found(new Error('no such host'), []))
  await expect(looked(failing, true)).rejects.toThrow('no such host')
})

function looked(guard: AddressGuard, all: boolean): Promise<string | LookupAddress[]> {
  return new Promise((resolve, reject) => {
    guard.lookup('a.test', { all }, (error, addresses) => {
      if (error === null) resolve(addresses)
      else reject(error)
    })
  })
}
