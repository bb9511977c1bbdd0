const BUSY = 0
const STOP = 1

/** Longer than any statement should take. */
const WAIT_MS = 10_000

/**
 * Keeps a thread from being ended while it is inside of SQLite. A process that exits ends its threads
 * wherever they are, and a driver that is interrupted there takes the whole process down with it. So
 * the process asks first, and waits until the thread is out and will not go in again.
 */
export class ThreadGate {
  readonly memory: SharedArrayBuffer
  readonly #cells: Int32Array
  /** Acts within acts. */
  #depth = 0

  /** The thread is given the memory of the gate that its owner made. */
  constructor(memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#cells = new Int32Array(memory)
  }

  /** For the thread: acts, unless it is to be ended. */
  pass(act: () => void): void {
    Atomics.store(this.#cells, BUSY, 1)
    this.#depth++
    try {
      // Looked at only now: whoever asked before this waits for us, and whoever asks later too.
      if (Atomics.load(this.#cells, STOP) === 0) act()
    } finally {
      if (--this.#depth === 0) {
        Atomics.store(this.#cells, BUSY, 0)
        Atomics.notify(this.#cells, BUSY)
      }
    }
  }

  /** For its owner: returns when the thread is out and stays out. */
  shut(): void {
    Atomics.store(this.#cells, STOP, 1)
    Atomics.wait(this.#cells, BUSY, 1, WAIT_MS)
  }
}

const open = new Set<ThreadGate>()

/** Has a gate shut when the process exits, until it is told otherwise. */
export function shutAtExit(gate: ThreadGate): () => void {
  if (open.size === 0) process.on('exit', shutAll)
  open.add(gate)
  return () => {
    open.delete(gate)
    if (open.size === 0) process.off('exit', shutAll)
  }
}

function shutAll(): void {
  for (const gate of open) gate.shut()
}
