import { storeConformance } from '../src/conformance/store-conformance.ts'
import { MemoryStore } from '../src/memory/memory-store.ts'

storeConformance('memory', {
  open: async () => {
    const store = new MemoryStore()
    return { store, reopen: async () => store, remove: async () => {} }
  },
})
