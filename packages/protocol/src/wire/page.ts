import { z } from 'zod'

/** Where a list goes on. Its text is the server's own affair. */
export const cursor = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, { error: 'expected the cursor of the page before, unchanged' })

export const pageLimit = z.int().min(1).max(1_000).describe('entries of a page; 100 if left out')
