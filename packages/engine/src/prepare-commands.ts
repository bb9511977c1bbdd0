import { type Caller, type Policy, readTxHash, type Store, toHex } from '@fairlead/core'
import type { Command } from './command.ts'

interface Key {
  readonly caller: Caller
  readonly txHash: string
}

/**
 * Fills in what enqueues have to be compared with: the job that was enqueued under the same key before.
 * All keys of a batch are looked up at once; null where there is nothing to look up.
 */
export function prepareCommands(
  commands: readonly Command[],
  store: Store,
  policy: Policy,
): Promise<readonly Command[]> | null {
  const asked = new Map<Command, Key | null>()
  for (const command of commands) {
    if (command.type === 'enqueue' && command.before === 'unknown') {
      asked.set(command, keyOf(command, policy))
    }
  }
  return asked.size === 0 ? null : lookUp(commands, asked, store)
}

async function lookUp(
  commands: readonly Command[],
  asked: ReadonlyMap<Command, Key | null>,
  store: Store,
): Promise<readonly Command[]> {
  const keys = [...asked.values()].filter((key) => key !== null)
  const found = (keys.length === 0 ? [] : await store.read.jobsByTx(keys)).values()
  const prepared = new Map<Command, Command>()
  for (const [command, key] of asked) {
    const before = key === null ? null : (found.next().value ?? null)
    prepared.set(command, { ...command, before } as Command)
  }
  return commands.map((command) => prepared.get(command) ?? command)
}

/** Null for a key that will be refused when the command is applied. */
function keyOf(
  { request, caller }: Extract<Command, { type: 'enqueue' }>,
  policy: Policy,
): Key | null {
  try {
    return { caller, txHash: toHex(readTxHash({ ...request }, policy)) }
  } catch {
    return null
  }
}
