import { capacityOf, type Limiter } from '@fairlead/core/limits'
import { newId } from '../new-id.ts'
import type { Feedback, ProviderLimit } from './feedback.ts'

/** Smaller differences are jobs under way and estimates, not someone else. */
const NOTICEABLE = 0.02

/**
 * Where a provider has less left than the limiter believes, someone else uses the key. The difference is reserved
 * and never completed, so it lowers what is left now and comes back when its window is over (SCHED-7).
 */
export async function bookForeignUse(
  limiter: Limiter,
  keys: { readonly rpm: string; readonly tpm: string },
  { requests, tokens }: Feedback,
): Promise<void> {
  await book(limiter, keys.rpm, requests)
  await book(limiter, keys.tpm, tokens)
}

async function book(limiter: Limiter, key: string, { remaining }: ProviderLimit): Promise<void> {
  if (remaining === null) return
  const view = await limiter.get(key)
  if (view === null || view.held === null) return
  const capacity = capacityOf(view.limit)
  // A provider with a lower limit than configured has less left, too.
  const amount = Math.floor(capacity - Number(view.held) - remaining)
  if (amount < Math.max(1, NOTICEABLE * capacity)) return
  await limiter.reserve({ leaseId: newId(), requirements: [{ key, amount }] })
}
