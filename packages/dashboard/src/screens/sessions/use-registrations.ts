import type { RegistrationRecord } from '@fairlead/client'
import { useEffect, useState } from 'preact/hooks'
import { line } from '../../data/line.ts'

const PAGE = 1_000
const PAGES_MAX = 5
const AGAIN_MS = 1_500

interface Known {
  readonly registrations: readonly RegistrationRecord[]
  readonly isWhole: boolean
}

/** Everybody of a session, a few thousand at most; again and again while it is open. */
export function useRegistrations(
  session: { readonly provider: string; readonly org_ref: string; readonly event_id: string },
  isOpen: boolean,
): Known {
  const [known, set] = useState<Known>({ registrations: [], isWhole: true })
  const key = JSON.stringify(session)
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      try {
        const all = await readAll(session)
        if (!isOver) set(all)
      } catch {
        // The screen tells of a lost connection; the next try comes.
      }
      if (!isOver && isOpen) timer = setTimeout(() => void ask(), AGAIN_MS)
    }
    if (isOpen) void ask()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [key, isOpen])
  return known
}

async function readAll(session: Parameters<typeof useRegistrations>[0]): Promise<Known> {
  const registrations: RegistrationRecord[] = []
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer: { registrations: RegistrationRecord[]; cursor: string | null } = await line.call(
      'signup.list',
      { ...session, limit: PAGE, ...(cursor === null ? {} : { cursor }) },
    )
    registrations.push(...answer.registrations)
    cursor = answer.cursor
    if (cursor === null) break
  }
  return { registrations, isWhole: cursor === null }
}
