// An object for the tests of a thread host.
import { FairleadError } from '@fairlead/core'
import { serveCalls } from '../dist/thread/serve-calls.js'
import { Moved } from '../dist/thread/thread-messages.js'

class Hosted {
  #calls = []

  add(a, b) {
    this.#calls.push('add')
    return a + b
  }

  async later(value) {
    this.#calls.push('later')
    await new Promise((resolve) => setImmediate(resolve))
    return value
  }

  calls() {
    return this.#calls
  }

  lengthOf(bytes) {
    return bytes.length
  }

  bytes(length) {
    const bytes = new Uint8Array(length).fill(7)
    return new Moved(bytes, [bytes.buffer])
  }

  refuse() {
    throw new FairleadError('NotFound', 'no such thing', { name: 'x' }, { cause: new Error('why') })
  }

  fail() {
    throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' })
  }

  failBadly() {
    throw new FairleadError('Internal', 'oh', {}, { cause: () => {} })
  }

  unsendable() {
    return () => {}
  }

  exit() {
    process.exit(3)
  }

  crash() {
    setImmediate(() => {
      throw new Error('it broke')
    })
    return new Promise(() => {})
  }

  close() {
    this.#calls.push('close')
  }
}

serveCalls(({ isBroken }) => {
  if (isBroken) throw new Error('cannot be opened')
  return new Hosted()
})
