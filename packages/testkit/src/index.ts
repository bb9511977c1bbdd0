/** What the tests of several packages share. Private: nothing of it is published. */
export { type CommitFate, MemoryStore } from './memory-store.ts'
export { stateHash } from './state-hash.ts'
export { TestClock } from './test-clock.ts'
