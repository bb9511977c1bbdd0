import { EngineState } from '@fairlead/engine'

let weight = 1
let isTapped = false

/**
 * Every changed row counts for so many. The engine leaves few rows for later, and many never, and waits with enqueues
 * when very many wait. With weights all of that happens in small worlds too. The product needs no switch for it.
 */
export function weighRows(perRow: number): void {
  weight = perRow
  if (isTapped) return
  isTapped = true
  const { prototype } = EngineState
  const changed = Object.getOwnPropertyDescriptor(prototype, 'changedRows') ?? {}
  const measured = Reflect.get(changed, 'get') as (this: EngineState) => number
  Object.defineProperty(prototype, 'changedRows', {
    get(this: EngineState) {
      return weight * measured.call(this)
    },
  })
}
